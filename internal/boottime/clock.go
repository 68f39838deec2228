package boottime

import (
	"sync"
	"sync/atomic"
	"time"
)

// A Clock is Go's monotonic clock plus the time of suspends of the machine. Its times
// compare and subtract with each other. A nil Clock is Go's clock.
type Clock struct {
	slept func(now time.Time) time.Duration
}

// New returns a clock that gets the total suspended time of the machine from slept, or
// counts it itself if slept is nil.
func New(slept func(now time.Time) time.Duration) *Clock {
	if slept == nil {
		slept = newSuspends(system()).count
	}
	return &Clock{slept}
}

// Now returns the time.
func (c *Clock) Now() time.Time {
	now := time.Now()
	return now.Add(c.suspended(now))
}

// Until returns the time from now until t.
func (c *Clock) Until(t time.Time) time.Duration { return t.Sub(c.Now()) }

// Since returns the time from t until now.
func (c *Clock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// Local returns t as a time of Go's clock, valid until the machine is suspended again.
func (c *Clock) Local(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.Add(-c.suspended(time.Now()))
}

// From converts t, a time of other, to a time of c.
func (c *Clock) From(other *Clock, t time.Time) time.Time {
	now := time.Now()
	return t.Add(c.suspended(now) - other.suspended(now))
}

func (c *Clock) suspended(now time.Time) time.Duration {
	if c == nil {
		return 0
	}
	return c.slept(now)
}

// suspends counts the suspended time of the machine. Both a suspend and a step of the
// wall clock move the wall clock relative to Go's clock; boot distinguishes the two. It
// is read only after such a move, as it costs a system call.
type suspends struct {
	start time.Time
	boot  func() time.Duration // counts during a suspend; nil if the system has no such clock
	zero  time.Duration        // value of boot at start

	mu   sync.Mutex
	last atomic.Pointer[mark] // written under mu
}

// A mark is how much the wall clock has gained on Go's clock since start, and the
// suspended time of the machine by then.
type mark struct{ ahead, slept time.Duration }

// apart is more than the difference of two successive clock readings.
const apart = time.Millisecond

func newSuspends(boot func() time.Duration) *suspends {
	s := &suspends{start: time.Now(), boot: boot}
	if boot != nil {
		s.zero = boot()
	}
	s.last.Store(new(mark))
	return s
}

func (s *suspends) count(now time.Time) time.Duration {
	m := s.last.Load()
	if (s.ahead(now) - m.ahead).Abs() < apart {
		return m.slept
	}
	return s.recount()
}

func (s *suspends) recount() time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	m := *s.last.Load()
	now := time.Now()
	ahead, slept := s.ahead(now), m.slept
	if s.boot == nil {
		slept += ahead - m.ahead
	} else {
		for slept = s.asleep(now); time.Since(now) > apart; slept = s.asleep(now) {
			now = time.Now() // this thread lost its processor between two readings
		}
	}
	if slept-m.slept < apart { // the wall clock was set
		slept = m.slept
	}
	s.last.Store(&mark{ahead, slept})
	return slept
}

func (s *suspends) ahead(now time.Time) time.Duration {
	return now.Round(0).Sub(s.start.Round(0)) - now.Sub(s.start)
}

func (s *suspends) asleep(now time.Time) time.Duration { return s.boot() - s.zero - now.Sub(s.start) }

package boottime

import "time"

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

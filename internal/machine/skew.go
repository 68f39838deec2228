package machine

import (
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"locklab/atomics"
)

// A Skew is the disagreement between the processors' counters, in ns. It bounds the error of a
// span between two, such as a handover. Get it from [MeasureSkew].
//
// A message cannot arrive before it was sent, so the least times to another processor and back
// bound its offset: half their difference, within half the shortest round trip. Source: the
// clock filter of D. Mills, "Internet Time Synchronization: the Network Time Protocol", IEEE
// Transactions on Communications 39(10), 1991.
type Skew struct {
	Offset   float64 `json:"offset_ns,omitempty"` // greatest absolute offset from the first processor of CPUOrder
	Error    float64 `json:"error_ns,omitempty"`  // the true value of Offset is within this
	Bound    float64 `json:"bound_ns,omitempty"`  // all processors compared agree with the first within this
	CPUs     int     `json:"cpus"`                // processors compared, including the first; 0 if no comparison was possible
	Backward int     `json:"backward,omitempty"`  // messages that arrived before they were sent, by the counters
	Reason   string  `json:"reason,omitempty"`    // why nothing was measured
}

const (
	skewRounds = 1000 // round trips with each processor, some 0.3 ms
	skewEnough = 50   // round trips are enough if the time runs out

	skewBudget   = 20 * time.Millisecond // for all processors together
	skewPatience = 4 * time.Millisecond  // for one, more than a time slice
)

// MeasureSkew compares the counters of the allowed processors with the first in [CPUOrder],
// each for half a millisecond, up to 20 ms: a random sample of a large machine. Its two threads end
// with it.
func MeasureSkew(c Clock) Skew { return measureSkew(c, CPUOrder(), 0) }

// measureSkew adds shift ticks to the counters of all processors except the first.
func measureSkew(c Clock, cpus []int, shift uint64) Skew {
	switch {
	case len(cpus) < 2:
		return Skew{Reason: "this process has one processor"}
	case runtime.GOMAXPROCS(0) < 2:
		return Skew{Reason: "GOMAXPROCS is 1, so no two threads run at once"}
	}
	s := session{start: time.Now(), shift: shift, jobs: make(chan *rally), ready: make(chan error), results: make(chan transit)}
	var skew Skew
	var threads sync.WaitGroup
	threads.Go(s.follow)
	threads.Go(func() { skew = s.lead(c, cpus) })
	threads.Wait()
	return skew
}

// A session is two threads: the leader stays on the first processor, the follower moves on.
type session struct {
	start   time.Time
	shift   uint64
	jobs    chan *rally // to the follower
	ready   chan error  // from the follower, on its processor
	results chan transit
}

func (s *session) follow() {
	runtime.LockOSThread() // for good: the thread ends with the goroutine
	for r := range s.jobs {
		err := PinThread(r.cpu)
		s.ready <- err
		if err == nil {
			s.results <- volley(&r.there, &r.back, false, s.shift)
		}
	}
}

func (s *session) lead(c Clock, cpus []int) (skew Skew) {
	runtime.LockOSThread()
	defer close(s.jobs)
	if err := PinThread(cpus[0]); err != nil {
		return Skew{Reason: unpinned(err)}
	}
	queue := slices.Clone(cpus[1:])
	rand.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] }) // the budget may end before the last
	for len(queue) > 0 && time.Since(s.start) < skewBudget {
		r := &rally{cpu: queue[0]}
		queue = queue[1:]
		s.jobs <- r
		if err := <-s.ready; err != nil {
			return Skew{Reason: unpinned(err)}
		}
		back := volley(&r.back, &r.there, true, 0)
		there := <-s.results
		if min(there.received, back.received) < skewEnough {
			queue = append(queue, r.cpu) // the other thread was not running
			continue
		}
		skew.add(c, there, back)
	}
	if skew.CPUs == 0 {
		return Skew{Reason: "no two threads ran at once: the machine is busy"}
	}
	return skew
}

func unpinned(err error) string {
	if errors.Is(err, errors.ErrUnsupported) {
		return "threads cannot be bound to processors on " + runtime.GOOS
	}
	return strings.TrimPrefix(err.Error(), "machine: ")
}

func (s *Skew) add(c Clock, there, back transit) {
	offset, err := there.offset(back)
	// A reading is early by up to a step of the clock.
	o, e := math.Abs(offset)*c.period, err*c.period+c.Step()
	if s.CPUs == 0 || o > s.Offset {
		s.Offset, s.Error = o, e
	}
	s.Bound = max(s.Bound, o+e)
	s.CPUs = max(s.CPUs, 1) + 1
	s.Backward += there.backward + back.backward
}

// A rally is the two words by which two threads exchange the time, each in its own cache line.
type rally struct {
	cpu   int // the follower's
	_     atomics.CacheLinePad
	there atomic.Uint64 // written by the leader
	_     atomics.CacheLinePad
	back  atomic.Uint64 // written by the follower
	_     atomics.CacheLinePad
}

// A transit summarizes the messages of one direction, in ticks.
type transit struct {
	least    int64
	received int
	backward int // messages with negative travel time
}

func (t *transit) add(ticks int64) {
	if t.received == 0 || ticks < t.least {
		t.least = ticks
	}
	t.received++
	if ticks < 0 {
		t.backward++
	}
}

// offset returns how far the far counter is ahead, and the possible error, in ticks.
func (t transit) offset(back transit) (offset, err float64) {
	there, home := float64(t.least), float64(back.least)
	return (there - home) / 2, (there + home) / 2
}

// volley sends the time through out and receives it from in, alternately. A message is the
// time doubled plus the round's parity, which marks it as new. A reading ends one direction
// and starts the next.
func volley(in, out *atomic.Uint64, serves bool, shift uint64) (t transit) {
	start := time.Now()
	now := stamp() + shift
	for round := range uint64(skewRounds) {
		parity := (round + 1) & 1
		if serves {
			out.Store(now<<1 | parity)
		}
		sent, ok := await(in, parity, start)
		if !ok {
			break
		}
		now = stamp() + shift
		t.add(int64(now<<1-sent&^1) >> 1)
		if !serves {
			out.Store(now<<1 | parity)
		}
	}
	return t
}

// await waits a limited time for a message of the parity. The loop is Go, which a garbage
// collection can interrupt; a pause would only add to the round trip.
func await(in *atomic.Uint64, parity uint64, start time.Time) (message uint64, ok bool) {
	for i := 1; ; i++ {
		if m := in.Load(); m&1 == parity {
			return m, true
		}
		if i&1023 == 0 && time.Since(start) > skewPatience {
			return 0, false
		}
	}
}

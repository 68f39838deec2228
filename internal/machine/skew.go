package machine

import (
	"cmp"
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
// each for half a millisecond, up to 20 ms: a random sample of a large machine. Its threads end
// with it.
func MeasureSkew(c Clock) Skew { return measureSkew(c, CPUOrder(), 0) }

// measureSkew adds shift ticks to the counters of all processors except the first.
func measureSkew(c Clock, cpus []int, shift uint64) (skew Skew) {
	switch {
	case len(cpus) < 2:
		return Skew{Reason: "this process has one processor"}
	case runtime.GOMAXPROCS(0) < 2:
		return Skew{Reason: "GOMAXPROCS is 1, so no two threads run at once"}
	}
	queue := slices.Clone(cpus[1:])
	rand.Shuffle(len(queue), func(i, j int) { queue[i], queue[j] = queue[j], queue[i] }) // the budget may end before the last
	for start := time.Now(); len(queue) > 0 && time.Since(start) < skewBudget; queue = queue[1:] {
		there, back, err := rally(cpus[0], queue[0], shift)
		switch {
		case err != nil:
			return Skew{Reason: unpinned(err)}
		case min(there.received, back.received) < skewEnough:
			queue = append(queue, queue[0]) // one of the threads was not running
		default:
			skew.add(c, there, back)
		}
	}
	if skew.CPUs == 0 {
		return Skew{Reason: "no two threads ran at once: the machine is busy"}
	}
	return skew
}

// rally lets two threads, each bound to one processor, exchange the time. It returns the
// messages to the second and back.
func rally(first, second int, shift uint64) (there, back transit, err error) {
	var words struct { // each in its own cache line
		_     atomics.CacheLinePad
		there atomic.Uint64
		_     atomics.CacheLinePad
		back  atomic.Uint64
		_     atomics.CacheLinePad
	}
	var errs [2]error
	var threads sync.WaitGroup
	bound := func(cpu int, err *error, exchange func()) {
		threads.Go(func() {
			runtime.LockOSThread() // for good: the thread ends with the goroutine
			if *err = PinThread(cpu); *err == nil {
				exchange()
			}
		})
	}
	bound(first, &errs[0], func() { back = volley(&words.back, &words.there, true, 0) })
	bound(second, &errs[1], func() { there = volley(&words.there, &words.back, false, shift) })
	threads.Wait()
	return there, back, cmp.Or(errs[:]...)
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

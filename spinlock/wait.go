package spinlock

import (
	"math"
	"runtime"

	"locklab/atomics"
	"locklab/harness"
)

// The numbers behind the wait policies.
const (
	// adaptiveLooks is how often an adaptive waiter looks before it starts to
	// yield, and adaptiveHints the length of the pause between these looks:
	// about 1 µs in all. With a worker per processor (two, sections of 4 to 100
	// steps) the first-come first-served locks then make about twice as many
	// turns as with yields alone. From 4 to 30 looks of 1 to 16 hints the
	// differences were smaller than those between runs; with more workers than
	// processors nothing but the yield mattered.
	adaptiveLooks = 8
	adaptiveHints = 4

	// pauseLooks bounds how long a pausing waiter stays on its processor.
	// While it is in assembly the runtime cannot stop the world.
	pauseLooks = 16
)

// A waiter is one wait for one lock: what to do between two looks at it.
// It lives on the stack of the goroutine that waits.
type waiter struct {
	hints  int // spin hints per unit of delay; 0 is an empty Go loop
	looks  int // looks left before the next yield
	refill int // looks between later yields
}

// newWaiter returns a waiter that follows p. An unknown policy is adaptive.
func newWaiter(p harness.WaitPolicy) waiter {
	switch p {
	case harness.WaitSpin:
		return waiter{hints: 0, looks: math.MaxInt, refill: math.MaxInt}
	case harness.WaitPause:
		return waiter{hints: 1, looks: pauseLooks - 1, refill: pauseLooks - 1}
	case harness.WaitYield:
		return waiter{}
	default:
		return waiter{hints: adaptiveHints, looks: adaptiveLooks}
	}
}

// wait passes the time between two looks at the lock.
func (w *waiter) wait() { w.delay(1) }

// delay is wait for locks that back off: the pause is n times as long, but a
// yield is one yield, since the scheduler decides how long that takes.
func (w *waiter) delay(n int) {
	switch {
	case w.looks == 0:
		w.looks = w.refill
		runtime.Gosched()
		return
	case w.hints > 0:
		atomics.SpinHint(n * w.hints)
	default:
		// A Go loop, not a hint: a busy waiter can be preempted anywhere.
		for range n - 1 {
		}
	}
	w.looks--
}

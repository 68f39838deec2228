package mutex

import (
	"math"

	"locklab/atomics"
	"locklab/harness"
)

// The numbers behind the wait policies, those of package spinlock.
const (
	adaptiveLooks = 8  // looks before an adaptive waiter begins to yield
	adaptiveHints = 4  // spin hints between these looks
	pauseLooks    = 16 // looks of a pausing waiter between two yields
	threadYields  = 64 // yields of the thread between two yields of the goroutine
)

// A waiter is one wait of those locks here that poll: what to do between two
// looks. It lives on the stack of the goroutine that waits. Nobody can wake it,
// so the policy park yields.
type waiter struct {
	hints  int  // spin hints per look
	looks  int  // looks left before the next yield
	refill int  // looks between later yields
	thread bool // yield the thread, not only the goroutine
	yields int  // of the thread, since the goroutine yielded
}

// newWaiter returns a waiter that follows p. An unknown policy is adaptive.
func newWaiter(p harness.WaitPolicy, pin harness.Pin) waiter {
	w := waiter{thread: pin != harness.PinNone}
	switch p {
	case harness.WaitSpin:
		w.looks, w.refill = math.MaxInt, math.MaxInt
	case harness.WaitPause:
		w.hints, w.looks, w.refill = 1, pauseLooks-1, pauseLooks-1
	case harness.WaitYield:
		w.thread = false
	case harness.WaitSchedYield:
		w.thread = true
	case harness.WaitPark:
	default:
		w.hints, w.looks = adaptiveHints, adaptiveLooks
	}
	return w
}

// wait passes the time between two looks at the lock. It must stay a call: at
// its beginning the runtime can stop a waiter, which it cannot in assembly.
//
//go:noinline
func (w *waiter) wait() {
	switch {
	case w.looks > 0:
		w.looks--
		atomics.SpinHint(w.hints)
	case w.thread && w.yields < threadYields:
		w.looks = w.refill
		w.yields++
		atomics.YieldThread()
	default:
		// A thread too lets go of its place in the Go scheduler now and then:
		// whoever it waits for may have none.
		w.looks, w.yields = w.refill, 0
		atomics.Yield()
	}
}

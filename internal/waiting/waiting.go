package waiting

import (
	"math"
	"runtime"

	"locklab/atomics"
)

// The numbers behind the wait policies.
const (
	// adaptivePolls is the polls of an adaptive waiter before it yields, and adaptiveHints the
	// pause between them: about 1 µs in total. With a worker per processor the FIFO locks then
	// make about twice as many acquisitions as with yields only; with more workers only the
	// yield matters. A longer pause delays the handover. With two pinned workers on a Zen 5,
	// clh took 2.1 and mcs 2.0 times as long as in C with 8 polls of 4 hints, 1.7 and 1.4 with
	// 16 of 2, 1.1 and 0.8 with 30 of 1 (make bench-c).
	adaptivePolls = 30
	adaptiveHints = 1

	// pausePolls is the number of polls of a pausing waiter before it yields once. With
	// more waiters than processors it keeps the holder from running meanwhile.
	pausePolls = 16

	// busyPolls is the number of polls in one call of a waiter that polls again at once.
	busyPolls = 64

	// threadYields is the number of thread yields of a waiter before it once gives up its
	// place in the Go scheduler too. That costs 60 times as much, and matters only if there
	// are fewer places (GOMAXPROCS) than such threads: then the next owner may have none. For
	// example, a ticket lock with 16 pinned threads on two processors, in thousand
	// acquisitions a second for 4, 16 and 64 of these yields: with 17 places 35, 75 to 110, 50
	// to 70; with two places 6, 1 to 4, 1. If every yield gives up the place: 8 and 6.
	threadYields = 16
)

// A Waiter is one wait for one lock, on the waiting goroutine's stack.
type Waiter struct {
	hints  int  // spin hints per unit of delay; 0 is an empty Go loop
	polls  int  // polls left before the next yield, or before the sleep
	refill int  // polls between later yields
	thread bool // yield the thread, not only the goroutine
	yields int  // thread yields since the last yield of the goroutine
	sleeps bool // sleep instead of the first yield, if the lock can wake its waiters
}

// New returns a waiter with policy p, for a lock that cannot wake a sleeper. It panics on an
// unknown policy or pin, with values cheap enough for inlining.
func New(p Policy, pin Pin) Waiter {
	w := Waiter{thread: pin != PinNone}
	if w.thread && pin != PinThread && pin != PinCPU {
		panic(pinError(pin))
	}
	switch p {
	case Adaptive:
		w.hints, w.polls = adaptiveHints, adaptivePolls
	case Spin:
		w.polls, w.refill = math.MaxInt, math.MaxInt
	case Pause:
		w.hints, w.polls, w.refill = 1, pausePolls-1, pausePolls-1
	case Yield:
		w.thread = false
	case SchedYield:
		w.thread = true
	case Park:
	default:
		panic(policyError(p))
	}
	return w
}

// NewSleeper returns a waiter with policy p, for a lock of that number of workers that can
// wake a sleeper. By the adaptive policy goroutines sleep, at once if they outnumber the
// processors, since each poll costs the holder time. Those locked to threads yield these
// instead, since a wake-up takes 100 times as long, unless they outnumber GOMAXPROCS: see
// threadYields.
//
// In million acquisitions a second on two shared processors, for 2, 4 and 16 goroutines: mcs
// asleep 31, 5.3, 4.5, with yields 15, 1.0, 0.16; clh 19, 5.3, 4.4 and 12, 1.2, 0.10; ticket
// 22, 4.6, 3.9 and 15, 1.0, 0.14.
func NewSleeper(workers int, p Policy, pin Pin) Waiter {
	w := New(p, pin)
	switch p {
	case Park:
		w.sleeps = true
	case Adaptive:
		many := workers > runtime.GOMAXPROCS(0)
		w.sleeps = many || pin == PinNone
		if many {
			w.polls = 0
		}
	}
	return w
}

// Spend subtracts n polls that were made before the wait began.
func (w *Waiter) Spend(n int) { w.polls = max(0, w.polls-n) }

// Tired reports whether it is time to sleep.
func (w *Waiter) Tired() bool { return w.sleeps && w.polls == 0 }

// While polls word while it is v, until the next yield or sleep is due, and returns the last
// value. If one is due already it yields and polls once, so a lock that can wake its waiters
// calls Tired first.
//
// It equals a loop of one poll and one Wait, load for load and hint for hint, without a call
// for each. It must stay a call, as [Waiter.Delay]. It makes at most adaptivePolls polls in
// assembly, 1 to 2 µs.
//
//go:noinline
func (w *Waiter) While(word *atomics.Uint32, v uint32) (last uint32) {
	switch {
	case w.polls == 0:
		w.rest()
	case w.hints > 0:
		last, found := word.PollWhile(v, w.polls)
		if w.polls -= found; w.polls > 0 {
			return last
		}
	default:
		// A Go loop: the runtime can stop it anywhere.
		for range busyPolls {
			if last = word.Load(); last != v {
				break
			}
		}
		return last
	}
	return word.Load()
}

// While64 is [Waiter.While] for a word of 64 bits.
//
//go:noinline
func (w *Waiter) While64(word *atomics.Uint64, v uint64) (last uint64) {
	switch {
	case w.polls == 0:
		w.rest()
	case w.hints > 0:
		last, found := word.PollWhile(v, w.polls)
		if w.polls -= found; w.polls > 0 {
			return last
		}
	default:
		for range busyPolls {
			if last = word.Load(); last != v {
				break
			}
		}
		return last
	}
	return word.Load()
}

// Wait passes the time between two polls of the lock.
func (w *Waiter) Wait() { w.Delay(1) }

// Delay is Wait for locks that back off: the pause is n times as long, but a yield is one
// yield. It must stay a call, with Go's stack check: there the runtime can stop a waiter that
// spends nearly all of its time in assembly.
//
//go:noinline
func (w *Waiter) Delay(n int) {
	switch {
	case w.polls == 0:
		w.rest()
		return
	case w.hints > 0:
		atomics.SpinHint(n * w.hints)
	default:
		// A Go loop, not a hint: a busy waiter can be preempted anywhere.
		for range n - 1 {
		}
	}
	w.polls--
}

// Sleeps reports whether w sleeps when it is tired.
func (w *Waiter) Sleeps() bool { return w.sleeps }

func (w *Waiter) rest() {
	w.polls = w.refill
	w.yield()
}

func (w *Waiter) yield() {
	if !w.thread || w.yields == threadYields {
		w.yields = 0
		atomics.Yield()
		return
	}
	w.yields++
	atomics.YieldThread()
}

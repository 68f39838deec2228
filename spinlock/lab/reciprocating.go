package lab

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/waiting"
)

var reciprocating = &harness.Variant{
	Name:   "reciprocating",
	Doc:    "arrivals push themselves on a stack; a release takes the whole stack and serves it",
	Paper:  "Dice & Kogan 2025",
	Family: harness.Spin,
	Status: harness.Reference,
	Traits: harness.Traits{Handles: true, Bounded: true, FollowsWait: true},
	Local:  func(s harness.Setup) harness.Local { return newReciprocating(s) },
}

// reciprocatingLock is the lock of Dice and Kogan: arrivals push their element
// on a stack by one Swap. The stack is detached as a whole and becomes the entry
// segment, which is served from its top; those that arrive meanwhile form the
// next stack. The lock goes from hand to hand inside a segment.
//
// # Trade-offs
//
// One element a worker, one Swap to arrive, and a release that finds its
// successor in what it learned when it arrived: there is no wait for a link, as
// in MCS, and the place where a worker polls is its own. The order is not first
// come, first served: in a segment the last arrival goes first. But no worker is
// overtaken by the same worker more than twice.
//
// A patent application covers this algorithm (US 2026/0050478 A1). It is here
// to be measured; ask a lawyer before a product ships it.
//
// # Memory ordering
//
// Taking a free lock: the Swap of arrivals pairs with the CompareAndSwap of the
// Unlock that set it to none. Taking it from a predecessor: the load of the gate
// pairs with the Swap of that Unlock. The Swap of arrivals is sequentially
// consistent, so an element's gate is closed before another worker can learn of it.
//
// # References
//
// Dave Dice and Alex Kogan, "Reciprocating Locks", PPoPP 2025, DOI
// 10.1145/3710848.3710862; arXiv 2501.02380, listing 1.
type reciprocatingLock struct {
	waiter  waiting.Waiter        // how a wait begins
	workers []reciprocatingWorker // 0 and 1 are no workers, see the constants

	_        atomics.CacheLinePad
	arrivals atomics.Uint32 // top of the stack
	_        atomics.CacheLinePad
}

// What arrivals holds beside the number of a worker.
const (
	reciprocatingFree  = 0 // the lock is free
	reciprocatingEmpty = 1 // it is held and none has arrived since
)

// What a gate holds beside the end of a segment, which is none of these.
const (
	gateClosed = 0
	gateAsleep = 1<<32 - 1 // closed, and the worker that waits there sleeps
)

// reciprocatingWorker is a worker's handle and its element.
type reciprocatingWorker struct {
	lock *reciprocatingLock
	id   uint32
	succ uint32 // the worker served next in this segment; 0 if this worker is its last
	end  uint32 // what lies below the last of the segment, and what arrivals holds if none has arrived since

	_      atomics.CacheLinePad
	gate   atomics.Uint32 // closed while this worker waits, then the end of its segment
	parker *atomics.Parker
	_      atomics.CacheLinePad
}

func newReciprocating(s harness.Setup) *reciprocatingLock {
	l := &reciprocatingLock{waiter: waiting.NewSleeper(s.Workers, waiting.Policy(s.Wait), waiting.Pin(s.Pin)), workers: make([]reciprocatingWorker, s.Workers+2)}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].id, l.workers[i].parker = l, uint32(i), atomics.NewParker()
	}
	return l
}

// Worker returns the handle of worker i.
func (l *reciprocatingLock) Worker(i int) sync.Locker { return &l.workers[i+2] }

func (h *reciprocatingWorker) Lock() {
	h.gate.StoreRelease(gateClosed)
	h.succ, h.end = 0, h.id
	if below := h.lock.arrivals.Swap(h.id); below != reciprocatingFree {
		h.lockSlow(below)
	}
}

// lockSlow waits at the gate. below is the worker that it pushed itself upon.
func (h *reciprocatingWorker) lockSlow(below uint32) {
	h.end = h.await()
	if below != reciprocatingEmpty {
		h.succ = below
	}
	// Below the last of a segment is the element of a worker that had taken
	// the free lock: it is no successor.
	if h.succ == h.end {
		h.succ, h.end = 0, reciprocatingEmpty
	}
}

// await waits until the gate is open and returns what it holds.
func (h *reciprocatingWorker) await() uint32 {
	w := h.lock.waiter
	for end := h.gate.Load(); ; end = w.While(&h.gate, gateClosed) {
		if end != gateClosed {
			return end
		}
		if w.Tired() {
			if h.gate.CompareAndSwap(gateClosed, gateAsleep) {
				h.parker.Park()
			}
			return h.gate.Load()
		}
	}
}

// open opens the gate of a worker, and wakes it if it sleeps there. One Swap
// both opens and checks, so no wake-up can fall between the two.
func (l *reciprocatingLock) open(worker, end uint32) {
	h := &l.workers[worker]
	if h.gate.Swap(end) == gateAsleep {
		h.parker.Unpark()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (h *reciprocatingWorker) TryLock() bool {
	h.gate.StoreRelease(gateClosed)
	h.succ, h.end = 0, h.id
	return h.lock.arrivals.CompareAndSwap(reciprocatingFree, h.id)
}

func (h *reciprocatingWorker) Unlock() {
	l := h.lock
	if h.succ != 0 {
		l.open(h.succ, h.end)
		return
	}
	if !l.arrivals.CompareAndSwap(h.end, reciprocatingFree) {
		top := l.arrivals.Swap(reciprocatingEmpty)
		l.open(top, h.end)
	}
}

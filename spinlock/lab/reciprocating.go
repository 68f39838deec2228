package lab

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/waiting"
)

var reciprocating = spin("reciprocating", "arrivals push themselves on a stack; a release takes the whole stack and serves it",
	"Dice & Kogan 2025", notJudged, harness.Traits{Handles: true, Bounded: true},
	func(s harness.Setup) harness.Local { return newReciprocating(s) })

// reciprocatingLock is the lock of Dice and Kogan: arrivals push their element on a stack
// by one Swap. The stack is detached as a whole and becomes the entry segment, which is
// served from its top. Later arrivals form the next stack. Inside a segment each holder
// hands the lock to the next worker.
//
// # Trade-offs
//
// Each worker has one element and arrives with one Swap. The result of that Swap is the
// successor of its release, so it never waits for a link, unlike MCS. Each worker polls
// its own word. The order is not first come, first served: in a segment the last arrival
// goes first. But no worker is overtaken by the same worker more than twice.
//
// A patent application covers this algorithm (US 2026/0050478 A1). It is here for
// measurements; ask a lawyer before a product ships it.
//
// # Memory ordering
//
// Taking a free lock: the Swap of arrivals pairs with the CompareAndSwap of the Unlock
// that set it to reciprocatingFree. Taking it from a predecessor: the load of the gate
// pairs with the Swap of that Unlock. The Swap of arrivals is sequentially consistent, so
// an element's gate is closed before another worker can find the element.
//
// # References
//
// Dave Dice and Alex Kogan, "Reciprocating Locks", PPoPP 2025, DOI
// 10.1145/3710848.3710862; arXiv 2501.02380, listing 1.
type reciprocatingLock struct {
	waiter  waiting.Waiter
	workers []reciprocatingWorker // 0 and 1 are not workers, see the constants

	_        atomics.CacheLinePad
	arrivals atomics.Uint32 // top of the stack
	_        atomics.CacheLinePad
}

// The values of arrivals that are not the number of a worker.
const (
	reciprocatingFree  = 0 // the lock is free
	reciprocatingEmpty = 1 // it is held and no worker has arrived since
)

// The values of a gate that are not the end of a segment.
const (
	gateClosed = 0
	gateAsleep = 1<<32 - 1 // closed, and its worker sleeps
)

type reciprocatingWorker struct {
	lock *reciprocatingLock
	id   uint32
	succ uint32 // the worker served next in this segment; 0 if this worker is its last
	end  uint32 // the value below the last worker of the segment, which is also the value of arrivals if no worker has arrived since

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

func (l *reciprocatingLock) Worker(i int) sync.Locker { return &l.workers[i+2] }

func (h *reciprocatingWorker) Lock() {
	h.gate.StoreRelease(gateClosed)
	h.succ, h.end = 0, h.id
	if below := h.lock.arrivals.Swap(h.id); below != reciprocatingFree {
		h.lockSlow(below)
	}
}

// lockSlow waits at the gate. below is the previous top of the stack.
func (h *reciprocatingWorker) lockSlow(below uint32) {
	h.end = h.await()
	if below != reciprocatingEmpty {
		h.succ = below
	}
	// Below a segment's last worker is one that had taken the free lock: it is no successor.
	if h.succ == h.end {
		h.succ, h.end = 0, reciprocatingEmpty
	}
}

// await waits until the gate is open and returns its value.
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

// open uses one Swap: no wake-up is lost.
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

package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// Hemlock is the lock of Dice and Kogan: the tail names the last arrival, each arrival polls a
// word of the worker before it, and a release writes into the releaser's own word. Service is
// first come, first served.
//
// # Trade-offs
//
// A lock is one word and a worker is one word for any number of locks; a queue lock has a node
// for each worker and lock. A release with a waiter must wait until it has acknowledged,
// perhaps for a successor that is not running. Here a worker has one word for each lock.
//
// # Memory ordering
//
// Taking a free lock: the Swap of tail pairs with the CompareAndSwap of the Unlock that set it
// to 0. Taking it from a predecessor: the load of its grant pairs with its Swap, or, for a
// waiter that slept, the Park with the Unpark. The store that acknowledges pairs with the load
// that ends the releaser's wait.
//
// # References
//
// Dave Dice and Alex Kogan, "Hemlock: Compact and Scalable Mutual Exclusion", SPAA 2021, pages
// 173-183, listing 1. DOI 10.1145/3409964.3461805.
type Hemlock struct {
	waiter  waiting.Waiter
	workers []HemlockWorker // workers[0] is unused: 0 means no worker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last worker in the queue; 0 if the lock is free
	_    atomics.CacheLinePad
}

// HemlockWorker is the handle of one worker of a [Hemlock] lock.
type HemlockWorker struct {
	lock  *Hemlock
	id    uint32
	_     atomics.CacheLinePad
	grant grant // gives the lock to the next worker in the queue, which acknowledges by a reset
	_     atomics.CacheLinePad
}

// NewHemlock returns a free lock for that many workers, at least 1.
func NewHemlock(workers int, o Options) *Hemlock {
	l := &Hemlock{waiter: o.sleeper(workers), workers: make([]HemlockWorker, workers+1)}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].id, l.workers[i].grant = l, uint32(i), newGrant()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *Hemlock) Worker(i int) *HemlockWorker {
	waiting.CheckWorker(i, len(l.workers)-1)
	return &l.workers[i+1]
}

// Lock takes the lock and waits for it if need be.
func (h *HemlockWorker) Lock() {
	if pred := h.lock.tail.Swap(h.id); pred != 0 {
		h.lock.workers[pred].grant.await(h.lock.waiter)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (h *HemlockWorker) TryLock() bool { return h.lock.tail.CompareAndSwap(0, h.id) }

// Unlock hands the lock to the next worker in the queue, or frees it.
func (h *HemlockWorker) Unlock() {
	if !h.lock.tail.CompareAndSwap(h.id, 0) {
		h.handOver()
	}
}

func (h *HemlockWorker) handOver() {
	h.grant.give()
	w := h.lock.waiter
	for state := h.grant.state.Load(); state != grantAwaited; {
		state = w.While(&h.grant.state, state)
	}
}

package spinlock

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/waiting"
)

var hemlock = &harness.Variant{
	Name:   "hemlock",
	Doc:    "a queue without nodes: one word a lock, one word a worker",
	Paper:  "Dice & Kogan 2021",
	Family: harness.Spin,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true},
	Local:  func(s harness.Setup) harness.Local { return newHemlock(s) },
}

// hemlockLock is the lock of Dice and Kogan: the tail names the last arrival,
// each arrival polls a word of the worker before it, and a release writes into
// the releaser's own word. Service is first come, first served.
//
// # Trade-offs
//
// A lock is one word and a worker is one word, for any number of locks, where a
// queue lock has a node for each worker and lock. A release with a waiter must
// stay until the waiter has taken notice, because the word is needed again: a
// releaser that would rather go on waits for a successor that may not be
// running. Here a worker has one word for each lock, as a handle belongs to one.
//
// # Memory ordering
//
// Taking a free lock: the Swap of tail pairs with the CompareAndSwap of the
// Unlock that set it to none. Taking it from a predecessor: the load of its
// grant pairs with its Swap, or, for a waiter that slept, the Park with the
// Unpark. The store that takes notice pairs with the load that ends the
// releaser's wait.
//
// # References
//
// Dave Dice and Alex Kogan, "Hemlock: Compact and Scalable Mutual Exclusion",
// SPAA 2021, pages 173-183, listing 1. DOI 10.1145/3409964.3461805.
type hemlockLock struct {
	waiter  waiting.Waiter  // how a wait begins
	workers []hemlockWorker // workers[0] is none

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last in the queue; 0 if the lock is free
	_    atomics.CacheLinePad
}

// hemlockWorker is a worker's handle.
type hemlockWorker struct {
	lock  *hemlockLock
	id    uint32
	_     atomics.CacheLinePad
	grant grant // of the lock to the next in the queue, who takes notice by resetting it
	_     atomics.CacheLinePad
}

func newHemlock(s harness.Setup) *hemlockLock {
	l := &hemlockLock{waiter: waiting.NewSleeper(s), workers: make([]hemlockWorker, s.Workers+1)}
	for i := range l.workers {
		l.workers[i].lock, l.workers[i].id, l.workers[i].grant = l, uint32(i), newGrant()
	}
	return l
}

// Worker returns the handle of worker i.
func (l *hemlockLock) Worker(i int) sync.Locker { return &l.workers[i+1] }

func (h *hemlockWorker) Lock() {
	if pred := h.lock.tail.Swap(h.id); pred != 0 {
		h.lock.workers[pred].grant.await(h.lock.waiter)
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (h *hemlockWorker) TryLock() bool { return h.lock.tail.CompareAndSwap(0, h.id) }

func (h *hemlockWorker) Unlock() {
	if !h.lock.tail.CompareAndSwap(h.id, 0) {
		h.handOver()
	}
}

// handOver lets the next in the queue in and waits until it has taken notice.
func (h *hemlockWorker) handOver() {
	h.grant.give()
	for w := h.lock.waiter; h.grant.state.Load() != grantAwaited; {
		w.Wait()
	}
}

package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// Fissile is the lock of Dice and Kogan: two locks in one. The holder of the
// outer one, a test-and-set word, is the owner. An arrival tries the word once
// and otherwise goes to the inner lock, an MCS queue, whose holder, the alpha,
// is the only one that polls the word. So arrivals may pass the whole queue,
// but only for the alpha's grace: then it says that it is impatient, and the
// next release but one at the latest hands the word to it instead of freeing
// it.
//
// # Trade-offs
//
// Without contention it is [TAS] with one more load; with contention at most one
// waiter disturbs the word, and an acquisition through the queue overlaps with
// the sections of those that pass it. A preempted waiter holds no other up while
// others pass. Passing is bounded in time, so no worker starves, but service is in
// no order.
//
// Waiters in the queue sleep as in [MCS]. The alpha polls: a release reads
// one word of the lock's own line and cannot find sleepers.
//
// # Memory ordering
//
// The CompareAndSwap or Swap that takes the word pairs with the release store of
// the Unlock before it. That store is of what Unlock has just read from
// impatient. If this was the old 0, the word becomes free, and the alpha takes
// it or loses it to one more arrival, whose Unlock reads the new value: all
// that is needed is that the alpha's store is seen in the end. A word that is
// handed over cannot be taken by any but the alpha, since the others
// compare it with free; and as the alpha withdraws its impatience before it
// leaves the queue, the next one finds no trace of it.
//
// # References
//
// Dave Dice and Alex Kogan, "Fissile Locks", Networked Systems (NETYS), 2020.
// DOI 10.1007/978-3-030-67087-0_13, arXiv:2003.05025, listing 1, where line 48
// swaps Inner and the text says the outer word. Two things are not the paper's:
// the inner lock is plain MCS instead of its variant of CNA, which prefers
// waiters of the same node of the machine, and the grace is a number of polls.
type Fissile struct {
	waiter  waiting.Waiter // how the alpha's wait begins
	workers []FissileWorker

	_         atomics.CacheLinePad
	outer     atomics.Uint32 // fissileFree, fissileHeld or fissileHanded
	impatient atomics.Uint32 // what Unlock stores: fissileFree, or fissileHanded by order of the alpha
	_         atomics.CacheLinePad
}

// The states of the outer word.
const (
	fissileFree   = 0
	fissileHeld   = 1
	fissileHanded = 2 // left to the alpha
)

// FissileWorker is the handle of one worker of a [Fissile] lock.
type FissileWorker struct {
	lock  *Fissile
	inner *MCSWorker // this worker's place in the queue
}

// NewFissile returns a free lock for that many workers, at least 1.
func NewFissile(workers int, o Options) *Fissile {
	l := &Fissile{waiter: o.sleeper(workers), workers: make([]FissileWorker, workers)}
	queue := NewMCS(workers, o)
	for i := range l.workers {
		l.workers[i] = FissileWorker{lock: l, inner: queue.Worker(i)}
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers. A handle is used by
// one goroutine at a time.
func (l *Fissile) Worker(i int) *FissileWorker {
	waiting.CheckWorker(i, len(l.workers))
	return &l.workers[i]
}

// Lock takes the lock and waits for it if need be.
func (h *FissileWorker) Lock() {
	if !h.TryLock() {
		h.lockSlow()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (h *FissileWorker) TryLock() bool {
	return h.lock.outer.CompareAndSwap(fissileFree, fissileHeld)
}

// lockSlow is apart so that the fast path stays small.
func (h *FissileWorker) lockSlow() {
	h.inner.Lock()
	h.lock.awaitAlpha()
	h.inner.Unlock()
}

// awaitAlpha takes the outer word for the alpha.
func (l *Fissile) awaitAlpha() {
	w := l.waiter
	outer := l.outer.Load()
	for waits := 0; outer == fissileHeld || l.outer.Swap(fissileHeld) == fissileHeld; waits++ {
		if waits == fissileGrace {
			l.impatient.StoreRelease(fissileHanded)
		}
		outer = w.While(&l.outer, fissileHeld)
	}
	l.impatient.StoreRelease(fissileFree)
}

// Unlock frees the lock, or hands it to the first in the queue.
func (h *FissileWorker) Unlock() {
	l := h.lock
	l.outer.StoreRelease(l.impatient.Load())
}

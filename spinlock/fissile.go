package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// Fissile is the lock of Dice and Kogan: two locks in one. The holder of the outer one, a
// test-and-set word, is the owner. An arrival tries the word once and otherwise takes the
// inner lock, an MCS queue. The holder of the inner lock, the alpha, is the only worker that
// polls the word. So arrivals may pass the whole queue, but only during the alpha's grace.
// Then the alpha sets impatient, and the next release but one at the latest hands the word to
// it instead of freeing it.
//
// # Trade-offs
//
// Without contention it is [TAS] with one more load. With contention at most one waiter
// disturbs the word, and the queue moves while other workers are in the critical section. A
// preempted waiter delays no other while arrivals pass it. Passing is bounded in time, so no
// worker starves, but service is in no order.
//
// Waiters in the queue sleep as in [MCS]. The alpha polls: a release reads only a word of the
// lock's own line and cannot find sleepers.
//
// # Memory ordering
//
// The CompareAndSwap or Swap that takes the word pairs with the release store of the Unlock
// before it. Unlock stores the value that it has just read from impatient. If this was the old
// 0, the word becomes free: the alpha takes it or loses it to one more arrival, whose Unlock
// reads the new value. So the alpha's store need only become visible in the end. Only the
// alpha can take a word that is handed over, since the others compare it with free. The alpha
// clears impatient before it leaves the queue, so the next alpha finds it clear.
//
// # References
//
// Dave Dice and Alex Kogan, "Fissile Locks", Networked Systems (NETYS), 2020. DOI
// 10.1007/978-3-030-67087-0_13, arXiv:2003.05025, listing 1, where line 48 swaps Inner and the
// text names the outer word. Two parts differ from the paper. The inner lock is plain MCS
// instead of a variant of CNA, and the grace is a number of polls.
type Fissile struct {
	waiter  waiting.Waiter
	workers []FissileWorker

	_         atomics.CacheLinePad
	outer     atomics.Uint32 // fissileFree, fissileHeld or fissileHanded
	impatient atomics.Uint32 // the value that Unlock stores: fissileFree, or fissileHanded if the alpha is impatient
	_         atomics.CacheLinePad
}

// The states of the outer word.
const (
	fissileFree   = 0
	fissileHeld   = 1
	fissileHanded = 2 // only the alpha may take it
)

// FissileWorker is the handle of one worker of a [Fissile] lock.
type FissileWorker struct {
	lock  *Fissile
	inner *MCSWorker
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

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
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

func (h *FissileWorker) lockSlow() {
	h.inner.Lock()
	h.lock.awaitAlpha()
	h.inner.Unlock()
}

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

// Unlock frees the lock, or hands it to the first worker in the queue.
func (h *FissileWorker) Unlock() {
	l := h.lock
	l.outer.StoreRelease(l.impatient.Load())
}

package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// CLH is the queue lock of Craig and of Landin and Hagersten: an arrival swaps
// itself in as the tail and polls the node of the worker that was there before.
// Service is first come, first served.
//
// # Trade-offs
//
// Cheaper than [MCS]: one read-modify-write instruction per acquisition, and a
// release is one store that never waits for a successor. There is no TryLock,
// because a worker that has swapped the tail is in the queue. A waiter polls
// memory that its predecessor allocated, which on machines with far memory may
// be the far one; on others the line moves into the waiter's cache either way.
//
// In the papers a node says that its owner is busy. That takes a store to raise
// before the swap, and after its release a worker must leave the node to its
// successor, which may not have polled it yet, and go on with that of its
// predecessor. Here workers number their acquisitions, the tail says which one to
// wait for, and a node says how many of its worker's are over. So nothing is raised,
// and a node stays with its worker: before that can release another acquisition,
// its successor has had the lock and has polled.
//
// A worker that had to wait itself checks for a sleeping successor when it
// unlocks, and offers that in time; one that did not releases by a plain store.
// So adaptive goroutines sleep in the queue, except for the first behind a
// holder that came in without waiting, which polls.
//
// # Memory ordering
//
// The load of done that ends a wait pairs with the release store of the
// predecessor's Unlock; a wake-up comes after that store. The Swap of tail is
// sequentially consistent. The numbers wrap, which does no harm: a waiter waits
// for the next release of its predecessor, and only for that.
//
// # References
//
// Travis S. Craig, "Building FIFO and Priority-Queuing Spin Locks from Atomic
// Swap", Technical Report TR 93-02-02, University of Washington, February 1993.
//
// Peter S. Magnusson, Anders Landin and Erik Hagersten, "Queue Locks on Cache
// Coherent Multiprocessors", Proceedings of the 8th International Parallel
// Processing Symposium (IPPS), 1994, pages 165-171, the lock LH.
// DOI 10.1109/IPPS.1994.288305.
type CLH struct {
	waiter  waiting.Waiter // how a wait begins
	workers []CLHWorker    // workers[0] is the predecessor of the first

	_    atomics.CacheLinePad
	tail atomics.Uint64 // the acquisition of the last in the queue
	_    atomics.CacheLinePad
}

// CLHWorker is the handle of one worker of a [CLH] lock, and its node in the
// queue. Its acquisitions have numbers; tail holds one of some worker: the id
// of the worker, above, and the number, the lower 32 bits, which wrap.
type CLHWorker struct {
	lock    *CLH
	id      uint64 // index of this worker in lock.workers, shifted
	offered bool   // it has offered its successor a place to sleep; used by this worker alone

	_    atomics.CacheLinePad
	done atomics.Uint32 // number of its acquisitions that are over; its successor polls it
	_    atomics.CacheLinePad

	// park is the park word for its successor: 0, or an acquisition whose release
	// this worker offers to signal, above, and then clhParkFree or the one that
	// sleeps.
	park   atomics.Uint64
	parker *atomics.Parker // where it sleeps itself, whichever worker wakes it
	_      atomics.CacheLinePad
}

// clhParkFree is less than what stands for any worker that sleeps, its index and
// one more.
const clhParkFree = 1

// NewCLH returns a free lock for that many workers, at least 1.
func NewCLH(workers int, o Options) *CLH {
	l := &CLH{waiter: o.sleeper(workers), workers: make([]CLHWorker, workers+1)}
	for i := range l.workers {
		h := &l.workers[i]
		h.lock, h.id, h.parker = l, uint64(i)<<32, atomics.NewParker()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers. A handle is used by
// one goroutine at a time.
func (l *CLH) Worker(i int) *CLHWorker {
	waiting.CheckWorker(i, len(l.workers)-1)
	return &l.workers[i+1]
}

// Lock takes the lock and waits for it if need be.
func (h *CLHWorker) Lock() {
	pred := h.lock.tail.Swap(h.id | uint64(h.done.Load()+1))
	if h.lock.workers[pred>>32].done.Load() != uint32(pred) {
		h.lockSlow(pred)
	}
}

// lockSlow is apart so that the fast path stays small.
func (h *CLHWorker) lockSlow(pred uint64) {
	ahead, number := &h.lock.workers[pred>>32], uint32(pred)
	w := h.lock.waiter
	if w.Sleeps() {
		h.park.Store(uint64(h.done.Load()+1)<<32 | clhParkFree)
		h.offered = true
	}
	for ahead.done.Load() != number {
		if !w.Tired() || !h.sleep(ahead, number) {
			w.Wait()
		}
	}
}

// sleep sleeps until ahead has released the acquisition of that number and reports
// true; it reports false at once if ahead has not offered its park word, or is
// unlocking. It is woken by a parker of its own: ahead may offer its park word again
// before the worker that slept is awake.
func (h *CLHWorker) sleep(ahead *CLHWorker, number uint32) bool {
	free := uint64(number)<<32 | clhParkFree
	if !ahead.park.CompareAndSwap(free, free-clhParkFree+h.id>>32+clhParkFree) {
		return false
	}
	h.parker.Park()
	return true
}

// Unlock lets the next in the queue in.
func (h *CLHWorker) Unlock() {
	if h.offered {
		h.unlockOffered()
	} else {
		h.done.AddRelease(1)
	}
}

// unlockOffered wakes the next in the queue if it sleeps. Inlined it would keep
// Unlock from being so.
//
//go:noinline
func (h *CLHWorker) unlockOffered() {
	h.offered = false
	sleeper := uint32(h.park.Swap(0))
	h.done.AddRelease(1)
	if sleeper > clhParkFree {
		h.lock.workers[sleeper-clhParkFree].parker.Unpark()
	}
}

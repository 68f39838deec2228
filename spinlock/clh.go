package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// CLH is the queue lock of Craig and of Landin and Hagersten: an arrival swaps
// itself in as the tail and polls the node of whoever was there before. Service
// is first come, first served.
//
// # Trade-offs
//
// Cheaper than [MCS]: one read-modify-write instruction per turn, and a
// release is one store that never waits for a successor. There is no TryLock,
// because who has swapped the tail is in the queue. A waiter polls memory that
// its predecessor allocated, which on machines with far memory may be the far
// one; on others the line moves into the waiter's cache either way.
//
// In the papers a node says that its owner is busy. That takes a store to raise
// before the swap, and after its turn a worker must leave the node to its
// successor, who may not have looked yet, and go on with that of its
// predecessor. Here workers number their turns, the tail says which turn to wait
// for, and a node says which turns are over. So nothing is raised, and a node
// stays with its worker: before that can end another turn, its successor has had
// one and has looked.
//
// A worker that had to wait itself looks for a sleeping successor when it
// unlocks, and offers that in time; one that did not releases by a plain store.
// So adaptive goroutines sleep in the queue, except for the first behind a
// holder that came in without waiting, which polls.
//
// # Memory ordering
//
// The load of done that ends a wait pairs with the release store of the
// predecessor's Unlock; a wake-up comes after that store. The Swap of tail is
// sequentially consistent. The numbers wrap, which does no harm: a waiter waits
// for the next turn that its predecessor ends, and only for that.
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
	workers []CLHWorker    // workers[0] is nobody, who came first

	_    atomics.CacheLinePad
	tail atomics.Uint64 // the turn of the last in the queue
	_    atomics.CacheLinePad
}

// CLHWorker is the handle of one worker of a [CLH] lock, and its node in the
// queue. Its turns have
// numbers; what stands in tail is a turn of a worker: its id, above, and the
// number of the turn, the lower 32 bits, which wrap.
type CLHWorker struct {
	lock  *CLH
	id    uint64 // index of this worker in lock.workers, shifted
	hosts bool   // it has offered its successor a place to sleep; nobody else touches it

	_    atomics.CacheLinePad
	done atomics.Uint32 // number of its turns that are over; its successor polls it
	_    atomics.CacheLinePad

	// bed is for its successor to sleep in: 0, or a turn that this worker offers,
	// above, and then clhBedFree or who sleeps.
	bed    atomics.Uint64
	parker *atomics.Parker // where it sleeps itself, whoever offered the bed
	_      atomics.CacheLinePad
}

// clhBedFree is less than what stands for any worker that sleeps, its index and
// one more.
const clhBedFree = 1

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
	ahead, turn := &h.lock.workers[pred>>32], uint32(pred)
	w := h.lock.waiter
	if w.Sleeps() {
		h.bed.Store(uint64(h.done.Load()+1)<<32 | clhBedFree)
		h.hosts = true
	}
	for ahead.done.Load() != turn {
		if !w.Tired() || !h.sleep(ahead, turn) {
			w.Wait()
		}
	}
}

// sleep sleeps until ahead has ended that turn and reports true; it reports false
// at once if ahead has not offered its bed, or is unlocking. It is woken at a
// place of its own: ahead may offer its bed again before who slept there is up.
func (h *CLHWorker) sleep(ahead *CLHWorker, turn uint32) bool {
	free := uint64(turn)<<32 | clhBedFree
	if !ahead.bed.CompareAndSwap(free, free-clhBedFree+h.id>>32+clhBedFree) {
		return false
	}
	h.parker.Park()
	return true
}

// Unlock lets the next in the queue in.
func (h *CLHWorker) Unlock() {
	if h.hosts {
		h.unlockHost()
	} else {
		h.done.AddRelease(1)
	}
}

// unlockHost wakes the next in the queue if it sleeps. Inlined it would keep
// Unlock from being so.
//
//go:noinline
func (h *CLHWorker) unlockHost() {
	h.hosts = false
	guest := uint32(h.bed.Swap(0))
	h.done.AddRelease(1)
	if guest > clhBedFree {
		h.lock.workers[guest-clhBedFree].parker.Unpark()
	}
}

package spinlock

import (
	"unsafe"

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
// wait for, and a node says which one of its worker's was over last. So nothing is
// raised, and a node stays with its worker: before that can release another
// acquisition, its successor has had the lock and has polled.
//
// A worker that had to wait itself checks for a sleeping successor when it
// unlocks, and offers that in time; one that did not releases by a plain store.
// So adaptive goroutines sleep in the queue, except for the first behind a
// holder that came in without waiting, which polls.
//
// # Memory ordering
//
// The load of over that ends a wait pairs with the release store of the
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

// An acquisition is what stands for one in a word: the index in workers of the
// worker whose it is, the lower 32 bits, and above it its number among that
// worker's, which wraps.
const (
	clhNext  = 1 << 32     // from one acquisition of a worker to its next
	clhIndex = clhNext - 1 // mask
)

// CLHWorker is the handle of one worker of a [CLH] lock, and its node in the
// queue. Its size is a power of two, which makes an index a shift.
type CLHWorker struct {
	tail    *atomics.Uint64 // of lock
	workers []CLHWorker     // of lock
	lock    *CLH
	offered bool // it has offered its successor a place to sleep; used by this worker alone

	_    atomics.CacheLinePad
	over atomics.Uint64 // which of its acquisitions was over last; its successor polls it
	_    atomics.CacheLinePad

	// park is the park word for its successor: 0, or the number of an acquisition
	// whose release this worker offers to signal, above, and then clhParkFree or the
	// one that sleeps.
	park   atomics.Uint64
	parker *atomics.Parker // where it sleeps itself, whichever worker wakes it
	_      [clhWorkerSize - clhWorkerUsed]byte
}

const (
	clhWorkerSize = 4 * atomics.CacheLine
	clhWorkerUsed = 2*atomics.CacheLine + 7*unsafe.Sizeof(uintptr(0)) + 2*8
)

// clhParkFree is less than what stands for any worker that sleeps, its index and
// one more.
const clhParkFree = 1

// NewCLH returns a free lock for that many workers, at least 1.
func NewCLH(workers int, o Options) *CLH {
	l := &CLH{waiter: o.sleeper(workers), workers: make([]CLHWorker, workers+1)}
	for i := range l.workers {
		h := &l.workers[i]
		h.tail, h.workers, h.lock, h.parker = &l.tail, l.workers, l, atomics.NewParker()
		h.over.Store(uint64(i))
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
func (h *CLHWorker) Lock() { h.await(h.tail.Swap(h.over.Load()+clhNext), (*CLHWorker).lockSlow) }

// await waits, by slow, if the acquisition pred is not over. It takes slow as a
// value so that Lock can be inlined: see [Ticket.await].
func (h *CLHWorker) await(pred uint64, slow func(*CLHWorker, uint64)) {
	if h.workers[uint32(pred)].over.Load() != pred {
		slow(h, pred)
	}
}

// lockSlow is apart so that the fast path stays small.
func (h *CLHWorker) lockSlow(pred uint64) {
	ahead := &h.workers[pred&clhIndex]
	w := h.lock.waiter
	if w.Sleeps() {
		h.park.Store((h.over.Load()+clhNext)&^clhIndex | clhParkFree)
		h.offered = true
	}
	for over := ahead.over.Load(); over != pred; {
		if w.Tired() && h.sleep(ahead, pred) {
			over = ahead.over.Load()
		} else {
			over = w.While64(&ahead.over, over)
		}
	}
}

// sleep sleeps until ahead has released the acquisition pred and reports true; it
// reports false at once if ahead has not offered its park word, or is unlocking. It
// is woken by a parker of its own: ahead may offer its park word again before the
// worker that slept is awake.
func (h *CLHWorker) sleep(ahead *CLHWorker, pred uint64) bool {
	free := pred&^clhIndex | clhParkFree
	if !ahead.park.CompareAndSwap(free, free+h.over.Load()&clhIndex) {
		return false
	}
	h.parker.Park()
	return true
}

// Unlock lets the next in the queue in.
func (h *CLHWorker) Unlock() { h.release((*CLHWorker).unlockOffered) }

// release takes offered as a value for the same reason as await.
func (h *CLHWorker) release(offered func(*CLHWorker)) {
	if h.offered {
		offered(h)
	} else {
		h.over.AddRelease(clhNext)
	}
}

// unlockOffered wakes the next in the queue if it sleeps.
//
//go:noinline
func (h *CLHWorker) unlockOffered() {
	h.offered = false
	sleeper := uint32(h.park.Swap(0))
	h.over.AddRelease(clhNext)
	if sleeper > clhParkFree {
		h.workers[sleeper-clhParkFree].parker.Unpark()
	}
}

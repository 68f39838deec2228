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
// A node says that its owner is busy: it is raised before the swap, and lowered by the
// release, after which the owner leaves it to its successor, which may not have polled
// it yet, and goes on with that of its predecessor. So a worker that comes back at once
// first takes the line of a node that another CPU has polled, and a waiter that is
// there meets the tail before it. Workers that number their acquisitions, so that
// nothing is raised and nodes stay where they are, took 1.2 times as long with two
// workers, also in C.
//
// A worker that had to wait itself checks for a sleeping successor when it
// unlocks, and offers that in time; one that did not releases by a plain store.
// So adaptive goroutines sleep in the queue, except for the first behind a
// holder that came in without waiting, which polls.
//
// # Memory ordering
//
// The load of busy that ends a wait pairs with the release store of the
// predecessor's Unlock; a wake-up comes after that store. The Swap of tail is
// sequentially consistent, so the store that raises a node is seen by the waiter that
// finds it in the queue.
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
	nodes   []clhNode      // one more than workers: the tail of the free lock belongs to none
	workers []CLHWorker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // place in nodes of the last in the queue, see CLHWorker.node
	_    atomics.CacheLinePad
}

// A clhNode is a place in the queue: of one acquisition at a time, whichever worker's.
type clhNode struct {
	busy atomics.Uint32 // 1 until the acquisition is over; its successor polls it

	// park is the park word for its successor: 0, or clhParkFree where the owner offers
	// to signal the release, or the one that sleeps until then, its index and clhSleeper.
	park atomics.Uint32
	_    [clhNodeSize - 2*4]byte
}

const (
	clhNodeSize = 2 * atomics.CacheLine

	clhParkFree = 1
	clhSleeper  = 2
)

// CLHWorker is the handle of one worker of a [CLH] lock.
type CLHWorker struct {
	tail    *atomics.Uint32 // of lock
	nodes   unsafe.Pointer  // to the first node of lock
	own     uint32          // place of the node of its acquisition, or of its next
	pred    uint32          // place of the one ahead of it, while it holds the lock
	offered bool            // it has offered its successor a place to sleep
	index   uint32          // of this worker
	lock    *CLH
	parker  *atomics.Parker // where it sleeps, whichever worker wakes it
	_       atomics.CacheLinePad
}

// clhMost is how many workers have places for their nodes.
const clhMost = 1<<32/clhNodeSize - 2

// NewCLH returns a free lock for that many workers, at least 1 and less than 16 million.
func NewCLH(workers int, o Options) *CLH {
	if int64(workers) > clhMost {
		panic("locklab: a CLH lock is for 16777214 workers at most")
	}
	l := &CLH{waiter: o.sleeper(workers), nodes: make([]clhNode, workers+1), workers: make([]CLHWorker, workers)}
	for i := range l.workers {
		l.workers[i] = CLHWorker{
			tail: &l.tail, nodes: unsafe.Pointer(&l.nodes[0]), own: uint32(i+1) * clhNodeSize,
			index: uint32(i), lock: l, parker: atomics.NewParker(),
		}
	}
	return l
}

// node returns the node at a place, its distance from the first one in bytes. An index
// would take a shift, a load of the length and a comparison, three times in an
// acquisition: 47 instructions in place of 33. Places come from NewCLH only.
func (h *CLHWorker) node(place uint32) *clhNode { return (*clhNode)(unsafe.Add(h.nodes, place)) }

// Worker returns the handle of worker i, 0 <= i < workers. A handle is used by
// one goroutine at a time.
func (l *CLH) Worker(i int) *CLHWorker {
	waiting.CheckWorker(i, len(l.workers))
	return &l.workers[i]
}

// Lock takes the lock and waits for it if need be.
func (h *CLHWorker) Lock() {
	h.node(h.own).busy.StoreRelease(1)
	h.await(h.tail.Swap(h.own), (*CLHWorker).lockSlow)
}

// await waits, by slow, if the acquisition of the node pred is not over. It takes slow
// as a value so that Lock can be inlined: see [Ticket.await].
func (h *CLHWorker) await(pred uint32, slow func(*CLHWorker)) {
	h.pred = pred
	if h.node(pred).busy.Load() != 0 {
		slow(h)
	}
}

// lockSlow is apart so that the fast path stays small.
func (h *CLHWorker) lockSlow() {
	ahead := h.node(h.pred)
	w := h.lock.waiter
	if w.Sleeps() {
		h.node(h.own).park.Store(clhParkFree)
		h.offered = true
	}
	for busy := uint32(1); busy != 0; {
		if w.Tired() && h.sleep(ahead) {
			busy = ahead.busy.Load()
		} else {
			busy = w.While(&ahead.busy, 1)
		}
	}
}

// sleep sleeps until the acquisition of ahead is over and reports true; it reports
// false at once if its worker has not offered the park word, or is unlocking. It sleeps
// at a parker of its own: once it is woken the node may serve others.
func (h *CLHWorker) sleep(ahead *clhNode) bool {
	if !ahead.park.CompareAndSwap(clhParkFree, clhSleeper+h.index) {
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
		h.node(h.own).busy.StoreRelease(0)
		h.own = h.pred
	}
}

// unlockOffered wakes the next in the queue if it sleeps.
//
//go:noinline
func (h *CLHWorker) unlockOffered() {
	h.offered = false
	node := h.node(h.own)
	sleeper := node.park.Swap(0)
	node.busy.StoreRelease(0)
	h.own = h.pred
	if sleeper >= clhSleeper {
		h.lock.workers[sleeper-clhSleeper].parker.Unpark()
	}
}

package spinlock

import (
	"fmt"
	"unsafe"

	"locklab/atomics"
	"locklab/internal/waiting"
)

// CLH is the queue lock of Craig and of Landin and Hagersten: an arrival swaps its node into
// the tail and polls the node of its predecessor. Service is first come, first served.
//
// # Trade-offs
//
// Cheaper than [MCS]: one read-modify-write instruction per acquisition, and a release is one
// store that never waits for a successor. There is no TryLock, because a worker that has
// swapped the tail is in the queue. A waiter polls memory of its predecessor, which may be on
// another memory node.
//
// The busy word of a node is set before the swap and cleared by the release. The owner then
// leaves the node to its successor, which may not have polled it yet, and takes the node of
// its predecessor. So a worker that returns at once first fetches the line of a node that
// another CPU has polled. Numbered acquisitions, in which nodes keep their owners, took 1.2
// times as long with two workers, also in C.
//
// A worker that had to wait offers its successor a place to sleep and checks for a sleeper when
// it unlocks. A worker that did not wait releases by a plain store. So adaptive goroutines
// sleep in the queue, except the first one behind a holder that did not wait: that one polls.
//
// # Memory ordering
//
// The load of busy that ends a wait pairs with the release store of the predecessor's Unlock;
// a wake-up comes after that store. The Swap of tail is sequentially consistent, so a waiter
// that finds a node in the queue sees the store that set its busy word.
//
// # References
//
// Travis S. Craig, "Building FIFO and Priority-Queuing Spin Locks from Atomic Swap", Technical
// Report TR 93-02-02, University of Washington, February 1993.
//
// Peter S. Magnusson, Anders Landin and Erik Hagersten, "Queue Locks on Cache Coherent
// Multiprocessors", Proceedings of the 8th International Parallel Processing Symposium (IPPS),
// 1994, pages 165-171, the lock LH. DOI 10.1109/IPPS.1994.288305.
type CLH struct {
	waiter  waiting.Waiter
	nodes   []clhNode // one more than workers: the tail of a free lock has no owner
	workers []CLHWorker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // offset in nodes of the last node in the queue, see CLHWorker.node
	_    atomics.CacheLinePad
}

// A clhNode is a place in the queue. It belongs to one acquisition at a time, of any worker.
type clhNode struct {
	busy atomics.Uint32 // 1 until the acquisition is over; its successor polls it

	// park is the park word for the successor: 0; clhParkFree if the owner offers to wake
	// it; or clhSleeper plus the index of the worker that sleeps until the release.
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
	tail    *atomics.Uint32
	nodes   unsafe.Pointer // the first node of lock
	own     uint32         // offset of the node of its acquisition, or of its next one
	pred    uint32         // offset of the predecessor's node, while it holds the lock
	offered bool
	index   uint32
	lock    *CLH
	parker  *atomics.Parker // this worker sleeps here, whichever worker wakes it
	_       atomics.CacheLinePad
}

// clhMost is the largest number of workers whose nodes have offsets of 32 bits.
const clhMost = 1<<32/clhNodeSize - 2

// NewCLH returns a free lock for workers, 1 to 16777214 (8388606 on s390x). It panics for other
// numbers.
func NewCLH(workers int, o Options) *CLH {
	if int64(workers) > clhMost {
		panic(fmt.Sprintf("locklab: a CLH lock is for %d workers at most", clhMost))
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

// node returns the node at a place, its distance from the first in bytes: an index would take
// a shift, a load and a comparison, 14 of 47 instructions. Places come from NewCLH only.
func (h *CLHWorker) node(place uint32) *clhNode { return (*clhNode)(unsafe.Add(h.nodes, place)) }

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *CLH) Worker(i int) *CLHWorker {
	waiting.CheckWorker(i, len(l.workers))
	return &l.workers[i]
}

// Lock takes the lock and waits for it if need be.
func (h *CLHWorker) Lock() {
	h.node(h.own).busy.StoreRelease(1)
	h.await(h.tail.Swap(h.own), (*CLHWorker).lockSlow)
}

// await takes slow as a value: see [Ticket.await].
func (h *CLHWorker) await(pred uint32, slow func(*CLHWorker)) {
	h.pred = pred
	if h.node(pred).busy.Load() != 0 {
		slow(h)
	}
}

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

// sleep sleeps at the worker's own parker until the acquisition of ahead is over and reports
// true, or false at once if the owner of ahead has not offered the park word, or is unlocking.
func (h *CLHWorker) sleep(ahead *clhNode) bool {
	if !ahead.park.CompareAndSwap(clhParkFree, clhSleeper+h.index) {
		return false
	}
	h.parker.Park()
	return true
}

// Unlock releases the lock to the next worker in the queue.
func (h *CLHWorker) Unlock() { h.release((*CLHWorker).unlockOffered) }

func (h *CLHWorker) release(offered func(*CLHWorker)) {
	if h.offered {
		offered(h)
	} else {
		h.node(h.own).busy.StoreRelease(0)
		h.own = h.pred
	}
}

// unlockOffered wakes the next worker in the queue if it sleeps.
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

package spinlock

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

var clh = &harness.Variant{
	Name:   "clh",
	Doc:    "an implicit queue in which every waiter polls its predecessor's node",
	Paper:  "Craig 1993",
	Family: harness.Spin,
	Status: harness.Recommended,
	Traits: harness.Traits{FIFO: true},
	Local:  func(s harness.Setup) harness.Local { return NewCLH(s) },
}

// CLH is the queue lock of Craig and of Landin and Hagersten: an arrival swaps
// its node in as the tail and polls the node that was there before. Service is
// first come, first served.
//
// # Trade-offs
//
// Cheaper than [MCS]: one read-modify-write instruction per turn, and a
// release is one store that never waits for a successor. There is no TryLock,
// because who has swapped the tail is in the queue. A waiter polls memory that
// its predecessor allocated, which on machines with far memory may be the far
// one; on others the line moves into the waiter's cache either way.
//
// A worker that had to wait itself looks for a sleeping successor when it
// unlocks, and offers that in time; one that did not releases by a plain store.
// So adaptive goroutines sleep in the queue, except for the first behind a
// holder that came in without waiting, which polls.
//
// # Memory ordering
//
// The load of busy that ends a wait pairs with the release store of the
// predecessor's Unlock; a wake-up comes after that store. The Swap of tail is sequentially consistent, so a node
// reads busy before any other worker can learn its index. Unlock leaves the
// node to whoever polls it, and takes over the predecessor's, which nobody
// polls any more.
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
	waiter  waiter    // how a wait begins
	nodes   []clhNode // one more than workers: nodes[0] is the free lock's tail
	berths  []berth   // berths[i] is for who waits for nodes[i]
	workers []clhWorker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last in the queue
	_    atomics.CacheLinePad
}

// clhNode belongs to the worker that has it in the queue, then to its successor.
type clhNode struct {
	busy atomics.Uint32 // 1 from before its owner queues up until it unlocks
	_    atomics.CacheLinePad
}

// clhWorker is a worker's handle; nobody else touches it.
type clhWorker struct {
	lock       *CLH
	mine, pred uint32 // the node this worker queues with, and the one it polls
	hosts      bool   // it has offered its successor a place to sleep
	_          atomics.CacheLinePad
}

// NewCLH returns a free lock for s.Workers workers, at least 1.
func NewCLH(s harness.Setup) *CLH {
	l := &CLH{
		waiter:  newSleeper(s),
		nodes:   make([]clhNode, s.Workers+1),
		berths:  newBerths(s.Workers + 1),
		workers: make([]clhWorker, s.Workers),
	}
	for i := range l.workers {
		l.workers[i] = clhWorker{lock: l, mine: uint32(i) + 1}
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers. A handle is used by
// one goroutine at a time.
func (l *CLH) Worker(i int) sync.Locker { return &l.workers[i] }

// Lock takes the lock and waits for it if need be.
func (h *clhWorker) Lock() {
	l := h.lock
	l.nodes[h.mine].busy.StoreRelease(1)
	h.pred = l.tail.Swap(h.mine)
	if l.nodes[h.pred].busy.Load() != 0 {
		h.lockSlow()
	}
}

// lockSlow is apart so that the fast path stays small.
func (h *clhWorker) lockSlow() {
	l := h.lock
	w := l.waiter
	if w.sleeps {
		l.berths[h.mine].offer(0)
		h.hosts = true
	}
	for pred := &l.nodes[h.pred].busy; pred.Load() != 0; {
		if !w.tired() || !l.berths[h.pred].sleep(0) {
			w.wait()
		}
	}
}

// Unlock lets the next in the queue in.
func (h *clhWorker) Unlock() {
	if h.hosts {
		h.unlockHost()
	} else {
		h.lock.nodes[h.mine].busy.StoreRelease(0)
	}
	h.mine = h.pred
}

// unlockHost wakes the next in the queue if it sleeps.
func (h *clhWorker) unlockHost() {
	l, mine := h.lock, h.mine
	h.hosts = false
	taken := l.berths[mine].close()
	l.nodes[mine].busy.StoreRelease(0)
	if taken {
		l.berths[mine].wake()
	}
}

package spinlock

import (
	"unsafe"

	"locklab/atomics"
	"locklab/internal/waiting"
)

// MCS is the queue lock of Mellor-Crummey and Scott: arrivals link their nodes into a queue,
// and each waiter polls a word in its own node until its predecessor writes there. Service is
// first come, first served.
//
// # Trade-offs
//
// A release touches one waiter's cache line, whatever the number of waiters, so it suits many
// processors and strict order. It costs two read-modify-write instructions per acquisition
// even without waiters, and a node per worker.
//
// A release can find the next waiter, so waiters can sleep. Adaptive goroutines do, at once if
// there are more workers than processors, else after a few polls.
//
// Nodes are linked by index, not by pointer: sync/atomic stores a pointer through the garbage
// collector's write barrier, which more than doubles the cost of an acquisition.
//
// # Memory ordering
//
// Taking a free lock: the Swap of tail pairs with the CompareAndSwap of the Unlock that set it
// to 0. Taking it from a predecessor: the load of grant that ends the wait, or the wake-up,
// pairs with the Swap of grant in that Unlock. If no waiter of the lock ever sleeps, Unlock has
// a release store instead. The Swap of tail is sequentially consistent, so next is 0 again
// before any other worker can read the index of the node. The store that resets grant precedes
// the store that links the node, and only a worker that has seen the link gives.
//
// # References
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable Synchronization on
// Shared-Memory Multiprocessors", ACM Transactions on Computer Systems 9(1), February 1991,
// pages 21-65, section 2.4, algorithm 5. DOI 10.1145/103727.103729.
type MCS struct {
	waiter waiting.Waiter
	nodes  []MCSWorker // nodes[0] is unused: 0 means no worker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last worker in the queue; 0 if the lock is free
	_    atomics.CacheLinePad
}

// MCSWorker is the handle of one worker of an [MCS] lock and its place in the queue. next is 0
// unless the worker holds the lock or waits. All words that others write are in one cache
// line, also behind the 8 bytes of Go's allocator, so a handover moves only that. The size is
// a power of two: an index is a shift.
type MCSWorker struct {
	next  atomics.Uint32 // the worker after this one; written by that worker, once
	id    uint32
	tail  *atomics.Uint32
	lock  *MCS
	grant grant
	_     [mcsWorkerSize - mcsWorkerUsed]byte
}

const (
	mcsWorkerSize = 2 * atomics.CacheLine
	mcsWorkerUsed = 2*4 + 4*unsafe.Sizeof(uintptr(0))
)

// NewMCS returns a free lock for that many workers, at least 1.
func NewMCS(workers int, o Options) *MCS {
	l := &MCS{waiter: o.sleeper(workers), nodes: make([]MCSWorker, workers+1)}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].tail, l.nodes[i].id, l.nodes[i].grant = l, &l.tail, uint32(i), newGrant()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *MCS) Worker(i int) *MCSWorker {
	waiting.CheckWorker(i, len(l.nodes)-1)
	return &l.nodes[i+1]
}

// Lock takes the lock and waits for it if need be.
func (n *MCSWorker) Lock() {
	if pred := n.tail.Swap(n.id); pred != 0 {
		n.lockSlow(pred)
	}
}

func (n *MCSWorker) lockSlow(pred uint32) {
	n.grant.reset() // while the line is its own: after the wait another CPU has it
	n.lock.nodes[pred].next.StoreRelease(n.id)
	n.grant.wait(n.lock.waiter)
}

// TryLock takes the lock if it is free and reports whether it did.
func (n *MCSWorker) TryLock() bool { return n.tail.CompareAndSwap(0, n.id) }

// Unlock hands the lock to the next worker in the queue, or frees it.
func (n *MCSWorker) Unlock() {
	if !n.next.GuardedReset(n.tail, n.id) {
		n.unlockSlow()
	}
}

// unlockSlow is not inlined, so that Unlock can be.
//
//go:noinline
func (n *MCSWorker) unlockSlow() {
	next := n.next.Load()
	if next == 0 {
		next = successor(&n.next, n.lock.waiter)
	}
	if g := &n.lock.nodes[next].grant; n.lock.waiter.Sleeps() {
		g.give()
	} else {
		g.giveAwake()
	}
	n.next.StoreRelease(0) // after the grant, which else would wait for this line to come back
}

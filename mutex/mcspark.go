package mutex

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// MCSPark is the queue lock of Mellor-Crummey and Scott whose waiters do not poll: each parks
// as soon as it has queued up, and its predecessor's Unlock wakes it. Service is first come,
// first served.
//
// # Trade-offs
//
// It keeps strict order with any number of goroutines: the next owner need not be running,
// since the release wakes it. In return, each acquisition under contention is a switch of
// goroutines, about 0.3 µs, however short the critical section. A switch of threads takes a
// hundred times as long. Without contention it costs a swap and a compare-and-swap.
//
// # Memory ordering
//
// Taking a free lock: the Swap of tail pairs with the CompareAndSwap of the Unlock that set it
// to 0. Taking it from a predecessor: the permit of that Unlock's Unpark is the lock, and
// every Unpark is synchronized before the Park that takes its permit. No wake-up can be lost:
// a permit may come before the waiter sleeps.
//
// # References
//
// John M. Mellor-Crummey and Michael L. Scott, "Algorithms for Scalable Synchronization on
// Shared-Memory Multiprocessors", ACM Transactions on Computer Systems 9(1), February 1991,
// pages 21-65, section 2.4, algorithm 5, with parking in place of the spin. DOI
// 10.1145/103727.103729.
//
// For the reason why such a queue must not poll with more threads than processors: Dave Dice,
// "Malthusian Locks", EuroSys 2017. DOI 10.1145/3064176.3064203.
type MCSPark struct {
	nodes []MCSParkWorker // nodes[0] is unused: 0 means no worker
	wait  waiting.Waiter  // how an Unlock waits for a successor that is between its two instructions

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last worker in the queue; 0 if the lock is free
	_    atomics.CacheLinePad
}

// MCSParkWorker is the handle of one worker of an [MCSPark] lock, and its place in the queue.
type MCSParkWorker struct {
	lock   *MCSPark
	id     uint32
	next   atomics.Uint32  // the worker after this one; written by that worker, once
	parker *atomics.Parker // its permit is the lock
	_      atomics.CacheLinePad
}

// NewMCSPark returns a free lock for that many workers, at least 1. o.Wait has no effect.
func NewMCSPark(workers int, o Options) *MCSPark {
	o.check(workers)
	l := &MCSPark{nodes: make([]MCSParkWorker, workers+1), wait: waiting.New(WaitAdaptive, o.Pin)}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].id, l.nodes[i].parker = l, uint32(i), atomics.NewParker()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *MCSPark) Worker(i int) *MCSParkWorker {
	waiting.CheckWorker(i, len(l.nodes)-1)
	return &l.nodes[i+1]
}

// Lock takes the lock and waits for it if need be.
func (n *MCSParkWorker) Lock() {
	if pred := n.lock.tail.Swap(n.id); pred != 0 {
		n.lock.nodes[pred].next.StoreRelease(n.id)
		n.parker.Park()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (n *MCSParkWorker) TryLock() bool { return n.lock.tail.CompareAndSwap(0, n.id) }

// Unlock hands the lock to the next worker in the queue, or frees it.
func (n *MCSParkWorker) Unlock() {
	next := n.next.Load()
	if next == 0 {
		if n.lock.tail.CompareAndSwap(n.id, 0) {
			return
		}
		next = n.successor()
	}
	n.next.StoreRelease(0)
	n.lock.nodes[next].parker.Unpark()
}

// successor waits for a worker that has swapped the tail but has not linked itself yet. That
// worker is between its two instructions, so the wait is short unless it was preempted there.
func (n *MCSParkWorker) successor() uint32 {
	for w := n.lock.wait; ; {
		w.Wait()
		if next := n.next.Load(); next != 0 {
			return next
		}
	}
}

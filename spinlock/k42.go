package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// K42 is the queue lock of the K42 operating system (Auslander et al.), a variant of [MCS]
// whose holder has no place in the queue: a worker links its node only to wait and unlinks it
// when it gets the lock. Unlock needs only the lock. Service is first come, first served. Make
// one with [NewK42].
//
// # Trade-offs
//
// In C the node can lie on the stack of the function that locks, so the lock has the interface
// of a mutex. In Go a stack moves, so here a worker has a handle with a node. Unlock works
// through any handle. Taking the lock after a wait costs one more read-modify-write
// instruction than in [MCS], to leave the queue. Arrivals compare and swap, while [MCS] swaps,
// and try again when another came first.
//
// Waiters sleep as in [MCS].
//
// # Memory ordering
//
// Taking a free lock: the CompareAndSwap of tail pairs with the one in the Unlock that freed it.
// Taking it from a holder: the load of grant that ends the wait, or the wake-up, pairs with
// the Swap of grant in that Unlock. All words of a node are 0 before the CompareAndSwap that
// publishes it.
//
// # References
//
// Marc A. Auslander, David J. Edelsohn, Orran Y. Krieger, Bryan S. Rosenburg and Robert W.
// Wisniewski, "Enhancement to the MCS Lock for Increased Functionality and Improved
// Programmability", U.S. patent application 2003/0200457 A1, filed April 2002, published
// October 2003 (abandoned). Pseudocode:
// https://www.cs.rochester.edu/research/synchronization/pseudocode/ss.html
//
// Michael L. Scott, "Shared-Memory Synchronization", Morgan & Claypool, 2013, section 4.3.1,
// the K42 variant. DOI 10.2200/S00499ED1V01Y201304CAC023.
type K42 struct {
	waiter waiting.Waiter
	nodes  []K42Worker // nodes[0] is unused: 0 means no worker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last waiter; k42Alone if there is no waiter; 0 if the lock is free
	_    atomics.CacheLinePad
	head atomics.Uint32 // the first waiter, or 0; written by the holder and by the waiter behind k42Alone
	_    atomics.CacheLinePad
}

// k42Alone is the tail of a lock that is held and has no waiters.
const k42Alone = 1<<32 - 1

// K42Worker is the handle of a worker of a [K42] lock; its words are 0 unless it waits.
type K42Worker struct {
	lock  *K42
	id    uint32
	next  atomics.Uint32 // the worker after this one; written by that worker, once
	grant grant
	_     atomics.CacheLinePad
}

// NewK42 returns a free lock for that many workers, at least 1.
func NewK42(workers int, o Options) *K42 {
	l := &K42{waiter: o.sleeper(workers), nodes: make([]K42Worker, workers+1)}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].id, l.nodes[i].grant = l, uint32(i), newGrant()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *K42) Worker(i int) *K42Worker {
	waiting.CheckWorker(i, len(l.nodes)-1)
	return &l.nodes[i+1]
}

// Lock takes the lock and waits for it if need be.
func (n *K42Worker) Lock() {
	if !n.TryLock() {
		n.lockSlow()
	}
}

// TryLock takes the lock if it is free and reports whether it did.
func (n *K42Worker) TryLock() bool { return n.lock.tail.CompareAndSwap(0, k42Alone) }

func (n *K42Worker) lockSlow() {
	l := n.lock
	for {
		switch last := l.tail.Load(); {
		case last == 0:
			if n.TryLock() {
				return
			}
		case l.tail.CompareAndSwap(last, n.id):
			if last == k42Alone {
				l.head.StoreRelease(n.id)
			} else {
				l.nodes[last].next.StoreRelease(n.id)
			}
			n.grant.await(l.waiter)
			n.leave()
			return
		}
	}
}

// leave unlinks the node of the new holder, the first in the queue.
func (n *K42Worker) leave() {
	l := n.lock
	next := n.next.Load()
	if next == 0 {
		l.head.StoreRelease(0) // before another can queue up behind k42Alone
		if l.tail.CompareAndSwap(n.id, k42Alone) {
			return
		}
		next = successor(&n.next, l.waiter)
	}
	l.head.StoreRelease(next)
	n.next.StoreRelease(0)
}

// Unlock hands the lock to the first waiter, or frees it.
func (n *K42Worker) Unlock() {
	l := n.lock
	first := l.head.Load()
	if first == 0 {
		if l.tail.CompareAndSwap(k42Alone, 0) {
			return
		}
		first = successor(&l.head, l.waiter)
	}
	l.nodes[first].grant.give()
}

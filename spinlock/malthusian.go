package spinlock

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// Malthusian is the lock MCSCR of Dice. It restricts concurrency: it is an MCS queue, and a
// release that finds two waiters behind it moves the first of them to a passive list and
// serves the second. The few remaining workers circulate with warm caches and without a queue.
// When the queue is empty, the worker set aside last comes back. Every thousandth release
// serves the worker that has been passive longest.
//
// # Trade-offs
//
// Throughput under contention stays at the level of a few workers. The price is fairness in
// the short run: a worker that is set aside waits for hundreds of acquisitions.
//
// # Memory ordering
//
// As for [MCS]. The lock itself guards the passive list.
//
// # References
//
// Dave Dice, "Malthusian Locks", EuroSys 2017, pages 314-327, section 4 (MCSCR). DOI
// 10.1145/3064176.3064203.
type Malthusian struct {
	waiter waiting.Waiter
	nodes  []MalthusianWorker // nodes[0] is unused: 0 means no worker

	_    atomics.CacheLinePad
	tail atomics.Uint32 // the last worker in the queue; 0 if the lock is free
	_    atomics.CacheLinePad

	// The words below are guarded by the lock.
	newest, oldest guarded // the ends of the passive list; 0 if it is empty
	releases       guarded
	_              atomics.CacheLinePad
}

// MalthusianWorker is one worker's handle, and its place in the queue or the passive list.
type MalthusianWorker struct {
	lock  *Malthusian
	id    uint32
	next  atomics.Uint32 // the worker after this one in the queue
	grant grant
	_     atomics.CacheLinePad

	// The links of the passive list; guarded by the lock.
	older, newer guarded
	_            atomics.CacheLinePad
}

// NewMalthusian returns a free lock for that many workers, at least 1.
func NewMalthusian(workers int, o Options) *Malthusian {
	l := &Malthusian{waiter: o.sleeper(workers), nodes: make([]MalthusianWorker, workers+1)}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].id, l.nodes[i].grant = l, uint32(i), newGrant()
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *Malthusian) Worker(i int) *MalthusianWorker {
	waiting.CheckWorker(i, len(l.nodes)-1)
	return &l.nodes[i+1]
}

// Lock takes the lock and waits for it if need be.
func (n *MalthusianWorker) Lock() {
	if pred := n.lock.tail.Swap(n.id); pred != 0 {
		n.lockSlow(pred)
	}
}

func (n *MalthusianWorker) lockSlow(pred uint32) {
	n.lock.nodes[pred].next.StoreRelease(n.id)
	n.grant.await(n.lock.waiter)
}

// TryLock takes the lock if it is free and reports whether it did.
func (n *MalthusianWorker) TryLock() bool { return n.lock.tail.CompareAndSwap(0, n.id) }

// Unlock hands the lock to another worker, or frees it.
func (n *MalthusianWorker) Unlock() {
	l := n.lock
	if l.oldest.get() != 0 {
		releases := l.releases.get() + 1
		l.releases.set(releases)
		if releases%malthusianPeriod == 0 {
			n.insert(l.takeOldest())
			return
		}
	}
	next := n.next.Load()
	if next == 0 {
		if n.leave() {
			return
		}
		next = successor(&n.next, l.waiter)
	}
	if after := l.nodes[next].next.Load(); after != 0 {
		l.setAside(next)
		next = after
	}
	n.handOver(next)
}

// leave ends the acquisition of a worker that sees no successor: the worker that became
// passive last takes its place, or the lock is free. It fails if another worker has arrived.
func (n *MalthusianWorker) leave() bool {
	l := n.lock
	p := l.newest.get()
	if p == 0 {
		return l.tail.CompareAndSwap(n.id, 0)
	}
	l.nodes[p].next.StoreRelease(0)
	if !l.tail.CompareAndSwap(n.id, p) {
		return false
	}
	l.takeNewest()
	n.handOver(p)
	return true
}

// insert serves worker p next, ahead of the queue.
func (n *MalthusianWorker) insert(p uint32) {
	l := n.lock
	next := n.next.Load()
	l.nodes[p].next.StoreRelease(next)
	if next == 0 && !l.tail.CompareAndSwap(n.id, p) {
		l.nodes[p].next.StoreRelease(successor(&n.next, l.waiter))
	}
	n.handOver(p)
}

func (n *MalthusianWorker) handOver(to uint32) {
	n.next.StoreRelease(0)
	n.lock.nodes[to].grant.give()
}

func (l *Malthusian) setAside(p uint32) {
	newest := l.newest.get()
	l.nodes[p].older.set(newest)
	l.nodes[p].newer.set(0)
	if newest != 0 {
		l.nodes[newest].newer.set(p)
	} else {
		l.oldest.set(p)
	}
	l.newest.set(p)
}

func (l *Malthusian) takeNewest() {
	p := l.nodes[l.newest.get()].older.get()
	l.newest.set(p)
	if p == 0 {
		l.oldest.set(0)
	} else {
		l.nodes[p].newer.set(0)
	}
}

func (l *Malthusian) takeOldest() uint32 {
	p := l.oldest.get()
	next := l.nodes[p].newer.get()
	l.oldest.set(next)
	if next == 0 {
		l.newest.set(0)
	} else {
		l.nodes[next].older.set(0)
	}
	return p
}

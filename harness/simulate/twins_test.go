//go:build systematic && simulate

package simulate_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// A twin is the Go version of a lock measured elsewhere. Its words are in cache lines
// like the original's, and it executes the same operations on them in the same order.
type twin struct {
	like  string // the most similar lock of the lab, or ""
	local func(harness.Setup) harness.Local

	// overlaps reports that several workers may be inside: it is no lock, or lacks a rare case.
	overlaps bool

	// loose reports that the twin omits actions of waiters: its row counts nowhere.
	loose bool
}

// twins are the locks of lockhammer and of lockbench, by their name in the published data.
var twins = map[string]twin{
	// An exchange again and again, without a spin hint.
	"swap_mutex": {like: "tas-xchg", local: withLock(func() sync.Locker { return new(swapLock) })},
	// Both numbers are in one line.
	"ticket_spinlock": {like: "ticket", local: withLock(func() sync.Locker { return newTicket(false) })},
	// The queued spin lock of Linux without its pending bit.
	"queued_spinlock": {local: func(s harness.Setup) harness.Local { return queueLock{nodes(s.Workers)} }, overlaps: true},
	// A counter: one addition to come, one to go.
	"incdec_refcount": {local: withLock(func() sync.Locker { return new(counter) }), overlaps: true},
	// The optimistic spin queue of Linux as a plain queue lock. Its waiters also ask whether they are to sleep.
	"osq_lock": {local: func(s harness.Setup) harness.Local { return plainQueue{nodes(s.Workers)} }, loose: true},
	// An exchange, a spin hint, and again.
	"tas": {like: "tas-xchg", local: withLock(func() sync.Locker { return &swapLock{hints: 1} })},
	// Loads until it is free, then an exchange.
	"ttas": {like: "ttas", local: withLock(func() sync.Locker { return new(loadsFirst) })},
	// A compare-and-swap, then loads until it is free.
	"cas": {like: "ttas", local: withLock(func() sync.Locker { return new(casFirst) })},
	// Its two numbers are in two lines.
	"ticket": {like: "ticket", local: withLock(func() sync.Locker { return newTicket(true) })},
}

func withLock(lock func() sync.Locker) func(harness.Setup) harness.Local {
	return func(harness.Setup) harness.Local { return harness.Shared(lock()) }
}

type pad = atomics.CacheLinePad

type swapLock struct {
	_     pad
	v     atomics.Uint32
	_     pad
	hints int
}

func (l *swapLock) Lock() {
	for l.v.Swap(1) != 0 {
		if l.hints > 0 {
			atomics.SpinHint(l.hints)
		}
	}
}

func (l *swapLock) Unlock() { l.v.StoreRelease(0) }

type loadsFirst struct{ swapLock }

func (l *loadsFirst) Lock() {
	for {
		for l.v.Load() != 0 {
			atomics.SpinHint(1)
		}
		if l.v.Swap(1) == 0 {
			return
		}
	}
}

type casFirst struct{ swapLock }

func (l *casFirst) Lock() {
	for !l.v.CompareAndSwap(0, 1) {
		for l.v.Load() != 0 {
			atomics.SpinHint(1)
		}
	}
}

type ticketLock struct{ next, serving *atomics.Uint32 }

// newTicket returns a lock with its numbers in one line, or in two.
func newTicket(apart bool) sync.Locker {
	var words struct {
		_             pad
		next, serving atomics.Uint32
		_             pad
		apart         atomics.Uint32
		_             pad
	}
	if apart {
		return &ticketLock{&words.next, &words.apart}
	}
	return &ticketLock{&words.next, &words.serving}
}

func (l *ticketLock) Lock() {
	for mine := l.next.Add(1) - 1; l.serving.Load() != mine; {
		atomics.SpinHint(1)
	}
}

func (l *ticketLock) Unlock() { l.serving.StoreRelease(l.serving.Load() + 1) }

type counter struct {
	_ pad
	v atomics.Uint32
	_ pad
}

func (l *counter) Lock()   { l.v.Add(1) }
func (l *counter) Unlock() { l.v.Add(^uint32(0)) }

// queue is a lock with a queue of waiting nodes; tail is the last (0: none). In Linux's spin
// lock the first waits for a lock word; in a plain one it is the holder.
type queue struct {
	_            pad
	locked, tail atomics.Uint32
	_            pad
	nodes        []node
}

type node struct {
	q             *queue
	id            uint32
	_             pad
	next, waiting atomics.Uint32
	_             pad
}

func nodes(workers int) *queue {
	q := &queue{nodes: make([]node, workers+1)}
	for i := range q.nodes {
		q.nodes[i].q, q.nodes[i].id = q, uint32(i)
	}
	return q
}

func (n *node) join() {
	n.waiting.StoreRelease(1)
	n.next.StoreRelease(0)
	if before := n.q.tail.Swap(n.id); before != 0 {
		n.q.nodes[before].next.StoreRelease(n.id)
		for n.waiting.Load() != 0 {
			atomics.SpinHint(1)
		}
	}
}

func (n *node) leave() {
	q := n.q
	if q.tail.Load() == n.id && q.tail.CompareAndSwap(n.id, 0) {
		return
	}
	for n.next.Load() == 0 {
		atomics.SpinHint(1)
	}
	q.nodes[n.next.Load()].waiting.StoreRelease(0)
}

type queueLock struct{ *queue }

func (q queueLock) Worker(i int) sync.Locker { return (*queueWorker)(&q.nodes[i+1]) }

type queueWorker node

// Lock tries twice without the queue, like the original, where lock word and tail are one
// word. Here they are two: the addition of 0 stands for a compare-and-swap that finds tail
// taken, and a worker may slip in between.
func (w *queueWorker) Lock() {
	n, q := (*node)(w), w.q
	for range 2 {
		if q.locked.Add(0) == 0 && q.tail.Load() == 0 && q.locked.CompareAndSwap(0, 1) {
			return
		}
		if q.locked.Load() != 0 {
			break
		}
	}
	n.join()
	for q.locked.Load() != 0 {
		atomics.SpinHint(1)
	}
	q.locked.StoreRelease(1)
	n.leave()
}

func (w *queueWorker) Unlock() { w.q.locked.StoreRelease(0) }

type plainQueue struct{ *queue }

func (q plainQueue) Worker(i int) sync.Locker { return (*plainWorker)(&q.nodes[i+1]) }

type plainWorker node

func (w *plainWorker) Lock()   { (*node)(w).join() }
func (w *plainWorker) Unlock() { (*node)(w).leave() }

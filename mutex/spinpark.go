package mutex

import (
	"locklab/atomics"
	"locklab/internal/waiting"
)

// How long a waiter polls before it parks, in polls of parkHints spin hints each: for as long
// as a sleep and a wake-up cost, which Karlin et al. show to cost at most twice the best
// choice. This is about 0.5 µs for a goroutine and 25 µs for a thread, if the hint takes 28 ns
// (Zen 3); hints differ by a factor of ten between CPUs.
const (
	parkHints       = 4
	parkPolls       = 4
	parkThreadPolls = 200
)

// SpinPark is a lock whose waiters poll for a bounded time and then park, and whose Unlock
// wakes the waiter that has slept longest. A waiter that polls may take the lock before one
// that has just been woken: service is in no order, and a waiter may starve.
//
// # Trade-offs
//
// Polling saves the two switches of goroutines if the holder is about to leave; the bound
// saves the processor otherwise. One waiter at a time is woken, and the next only after that
// one has the lock or sleeps again. So under heavy contention the lock stays with the workers
// that run. A worker that has bad luck each time it wakes goes to the end of the queue each
// time. sync.Mutex has a second mode against that; this lock does not.
//
// # Memory ordering
//
// Every change of state is a read-modify-write instruction, so these changes have one order. A
// waiter queues up only in a state with the held bit, and the Unlock that changes this state
// finds it there. Therefore the release must not be a release store. The worker that next sets
// the held bit sees everything that the holder wrote before it left; a woken waiter takes the
// lock like any other.
//
// # References
//
// Anna R. Karlin, Kai Li, Mark S. Manasse and Susan Owicki, "Empirical Studies of Competitive
// Spinning for a Shared-Memory Multiprocessor", Proceedings of the 13th ACM Symposium on
// Operating Systems Principles (SOSP), 1991, pages 41-55, the fixed-spin strategy. DOI
// 10.1145/121132.286599.
//
// At most one woken waiter at a time is the rule of mutexWoken in the Go standard library,
// internal/sync/mutex.go.
type SpinPark struct {
	polls int              // before a waiter parks
	nodes []SpinParkWorker // nodes[0] is unused: 0 means no worker

	_     atomics.CacheLinePad
	state atomics.Uint32 // parkHeld, parkWoken, and from parkShift the last worker that queued up
	_     atomics.CacheLinePad

	// queue is the next worker to wake, linked to the one after it. It is guarded by the lock
	// itself. Unlock moves the workers here that queued up since, in order of arrival.
	queue uint32
	_     atomics.CacheLinePad
}

// The parts of SpinPark.state.
const (
	parkHeld  = 1
	parkWoken = 2 // a worker that slept is awake and has yet to take the lock or queue up again
	parkShift = 2
)

// SpinParkWorker is the handle of one worker of a [SpinPark] lock.
type SpinParkWorker struct {
	lock   *SpinPark
	id     uint32
	parker *atomics.Parker

	// next is the worker that queued up before this one; the holder's once this one is queued.
	next uint32
	_    atomics.CacheLinePad
}

// NewSpinPark returns a free lock for that many workers, at least 1. Workers locked to threads
// by o.Pin poll longer; with [WaitPark] in o.Wait, never. Other policies have no effect.
func NewSpinPark(workers int, o Options) *SpinPark {
	o.check(workers)
	l := &SpinPark{polls: parkPolls, nodes: make([]SpinParkWorker, workers+1)}
	switch {
	case o.Wait == WaitPark:
		l.polls = 0
	case o.Pin != PinNone:
		l.polls = parkThreadPolls
	}
	for i := range l.nodes {
		l.nodes[i] = SpinParkWorker{lock: l, id: uint32(i), parker: atomics.NewParker()}
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, for one goroutine at a time.
func (l *SpinPark) Worker(i int) *SpinParkWorker {
	waiting.CheckWorker(i, len(l.nodes)-1)
	return &l.nodes[i+1]
}

// Lock takes the lock and waits for it if need be.
func (n *SpinParkWorker) Lock() {
	if !n.lock.state.CompareAndSwap(0, parkHeld) {
		n.lockSlow()
	}
}

func (n *SpinParkWorker) lockSlow() {
	for woken := uint32(0); ; woken = parkWoken {
		for range n.lock.polls {
			if n.take(woken) {
				return
			}
			atomics.SpinHint(parkHints)
		}
		if !n.enqueue(woken) {
			return
		}
		n.parker.Park()
	}
}

func (n *SpinParkWorker) take(woken uint32) bool {
	s := n.lock.state.Load()
	return s&parkHeld == 0 && n.lock.state.CompareAndSwap(s, s&^woken|parkHeld)
}

func (n *SpinParkWorker) enqueue(woken uint32) bool {
	for !n.take(woken) {
		s := n.lock.state.Load()
		n.next = s >> parkShift
		if s&parkHeld != 0 && n.lock.state.CompareAndSwap(s, n.id<<parkShift|s&parkWoken&^woken|parkHeld) {
			return true
		}
	}
	return false
}

// TryLock takes the lock if it is free and reports whether it did.
func (n *SpinParkWorker) TryLock() bool { return n.take(0) }

// Unlock releases the lock, and wakes a waiter unless a woken waiter is on its way.
func (n *SpinParkWorker) Unlock() {
	if l := n.lock; l.queue != 0 || !l.state.CompareAndSwap(parkHeld, 0) {
		l.unlockSlow()
	}
}

func (l *SpinPark) unlockSlow() {
	for {
		s := l.state.Load()
		switch {
		case s&parkWoken != 0 || l.queue == 0 && s == parkHeld:
			// The woken worker may queue up again meanwhile: check again.
			if l.state.CompareAndSwap(s, s&^parkHeld) {
				return
			}
		case l.queue == 0:
			if l.state.CompareAndSwap(s, parkHeld) {
				l.queue = l.reverse(s >> parkShift)
			}
		default:
			next := &l.nodes[l.queue]
			l.queue = next.next
			// Only the holder sets parkWoken, so an addition sets it.
			l.state.Add(parkWoken - parkHeld)
			next.parker.Unpark()
			return
		}
	}
}

func (l *SpinPark) reverse(last uint32) (first uint32) {
	for last != 0 {
		n := &l.nodes[last]
		last, n.next, first = n.next, first, last
	}
	return first
}

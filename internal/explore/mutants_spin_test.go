//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

type perWorker func(i int) sync.Locker

func (f perWorker) Worker(i int) sync.Locker { return f(i) }

type funcs struct{ lock, unlock func() }

func (f funcs) Lock()   { f.lock() }
func (f funcs) Unlock() { f.unlock() }

// A bug is the defect of a lock; "" means no bug.
type bug string

// Bugs of test-and-set locks.
const (
	loadThenStore bug = "takes the lock by a load and a store"
	noRecheck     bug = "takes the lock after the wait without a second check"
	freesTwice    bug = "frees the lock a second time when it is no longer its own"
	freesNever    bug = "frees the lock only if no waiter has polled it"
	opensTwice    bug = "opens a second way in for a moment before it frees the lock"
)

type tas struct {
	bug               bug
	held, polls, open atomics.Uint32
}

func newTAS(_ int, b bug) harness.Local { return harness.Shared(&tas{bug: b}) }

func (l *tas) Lock() {
	for {
		switch {
		case l.bug == loadThenStore && l.held.Load() == 0:
			l.held.Store(1)
			return
		case l.bug != loadThenStore && l.held.CompareAndSwap(0, 1):
			return
		}
		atomics.SpinHint(1) // one wait for held, and one for open: neither ends the other
		switch {
		case l.bug == freesNever:
			l.polls.Add(1)
		case l.bug == opensTwice && l.open.Load() == 1:
			return
		}
		atomics.SpinHint(1)
	}
}

func (l *tas) Unlock() {
	if l.bug == freesNever && l.polls.Load() != 0 {
		return
	}
	if l.bug == opensTwice {
		l.open.Store(1)
		l.open.Store(0)
	}
	l.held.StoreRelease(0)
	if l.bug == freesTwice {
		l.held.StoreRelease(0)
	}
}

type ttas struct {
	bug  bug
	held atomics.Uint32
}

func newTTAS(_ int, b bug) harness.Local { return harness.Shared(&ttas{bug: b}) }

func (l *ttas) Lock() {
	for !l.TryLock() {
		for l.held.Load() != 0 {
			atomics.SpinHint(1)
		}
		if l.bug == noRecheck {
			l.held.Store(1)
			return
		}
	}
}

func (l *ttas) TryLock() bool { return l.held.CompareAndSwap(0, 1) }
func (l *ttas) Unlock()       { l.held.StoreRelease(0) }

// Bugs of the ticket lock.
const (
	sameTicket  bug = "draws a number by a load and a store"
	earlyServe  bug = "goes in when the one before it is served"
	skipsNumber bug = "serves the next number but one"
	drawsAgain  bug = "draws a new number before each poll"
	anyOrder    bug = "serves in any order, and claims the order of arrival"
)

type ticket struct {
	bug           bug
	next, serving atomics.Uint32
}

func newTicket(_ int, b bug) harness.Local { return harness.Shared(&ticket{bug: b}) }

func (l *ticket) draw() uint32 {
	if l.bug == sameTicket {
		mine := l.next.Load()
		l.next.Store(mine + 1)
		return mine
	}
	return l.next.Add(1) - 1
}

func (l *ticket) Lock() {
	if l.bug == anyOrder {
		for !l.next.CompareAndSwap(0, 1) {
			atomics.SpinHint(1)
		}
		return
	}
	for mine := l.draw(); ; atomics.SpinHint(1) {
		ahead := mine - l.serving.Load()
		if ahead == 0 || l.bug == earlyServe && ahead == 1 {
			return
		}
		if l.bug == drawsAgain {
			mine = l.draw()
		}
	}
}

func (l *ticket) Unlock() {
	switch l.bug {
	case anyOrder:
		l.next.StoreRelease(0)
	case skipsNumber:
		l.serving.StoreRelease(l.serving.Load() + 2)
	default:
		l.serving.StoreRelease(l.serving.Load() + 1)
	}
}

// Bugs of locks made of loads and stores.
const (
	noFence    bug = "stores without a fence before it loads the other's flag"
	turnFirst  bug = "gives the turn away before it says that it is interested"
	noChoosing bug = "does not say that it is choosing a number"
)

// newPeterson is the lock of G. L. Peterson, "Myths About the Mutual Exclusion
// Problem", 1981, for two.
func newPeterson(_ int, b bug) harness.Local {
	var interested [2]atomics.Uint32
	var turn atomics.Uint32
	return perWorker(func(i int) sync.Locker {
		other := uint32(1 - i)
		return funcs{
			lock: func() {
				switch b {
				case noFence:
					interested[i].StoreRelease(1)
					turn.StoreRelease(other)
				case turnFirst:
					turn.Store(other)
					interested[i].Store(1)
				default:
					interested[i].StoreRelease(1)
					turn.Store(other)
				}
				for interested[other].Load() == 1 && turn.Load() == other {
					atomics.SpinHint(1)
				}
			},
			unlock: func() { interested[i].StoreRelease(0) },
		}
	})
}

// newBakery is the lock of Leslie Lamport, "A New Solution of Dijkstra's
// Concurrent Programming Problem", 1974.
func newBakery(n int, b bug) harness.Local {
	choosing, number := make([]atomics.Uint32, n), make([]atomics.Uint32, n)
	store := func(w *atomics.Uint32, v uint32) {
		if b == noFence {
			w.StoreRelease(v)
		} else {
			w.Store(v)
		}
	}
	return perWorker(func(i int) sync.Locker {
		return funcs{
			lock: func() {
				if b != noChoosing {
					store(&choosing[i], 1)
				}
				last := uint32(0)
				for j := range number {
					last = max(last, number[j].Load())
				}
				mine := last + 1
				store(&number[i], mine)
				choosing[i].StoreRelease(0)
				for j := range number {
					for choosing[j].Load() == 1 {
						atomics.SpinHint(1)
					}
					for j != i {
						other := number[j].Load()
						if other == 0 || mine < other || mine == other && i < j {
							break
						}
						atomics.SpinHint(1)
					}
				}
			},
			unlock: func() { number[i].StoreRelease(0) },
		}
	})
}

// Bugs of the MCS lock.
const (
	tailByStore   bug = "frees the lock by a load and a store of the tail"
	armsLate      bug = "queues up before it arms the flag that it will poll"
	lostSuccessor bug = "leaves although a successor is about to link itself"
	staleLink     bug = "keeps the link to its successor for the next acquisition"
)

// mcs is the lock of Mellor-Crummey and Scott, as the paper has it: a waiter
// arms its own flag before it links itself.
type mcs struct {
	bug   bug
	nodes []mcsNode // nodes[0] is not used
	tail  atomics.Uint32
}

type mcsNode struct {
	lock         *mcs
	id           uint32
	next, locked atomics.Uint32
}

func newMCS(n int, b bug) harness.Local {
	l := &mcs{bug: b, nodes: make([]mcsNode, n+1)}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].id = l, uint32(i)
	}
	return l
}

func (l *mcs) Worker(i int) sync.Locker { return &l.nodes[i+1] }

func (n *mcsNode) Lock() {
	l := n.lock
	if l.bug != staleLink {
		n.next.StoreRelease(0)
	}
	pred := l.tail.Swap(n.id)
	if pred == 0 {
		return
	}
	if l.bug == armsLate {
		l.nodes[pred].next.StoreRelease(n.id)
		n.locked.StoreRelease(1)
	} else {
		n.locked.StoreRelease(1)
		l.nodes[pred].next.StoreRelease(n.id)
	}
	for n.locked.Load() == 1 {
		atomics.SpinHint(1)
	}
}

func (n *mcsNode) Unlock() {
	if n.next.Load() == 0 {
		if n.leaves() {
			return
		}
		for n.next.Load() == 0 {
			atomics.SpinHint(1)
		}
	}
	n.lock.nodes[n.next.Load()].locked.StoreRelease(0)
}

// leaves takes n out of the queue if it is the last.
func (n *mcsNode) leaves() bool {
	switch l := n.lock; l.bug {
	case tailByStore:
		if l.tail.Load() != n.id {
			return false
		}
		l.tail.Store(0)
		return true
	case lostSuccessor:
		l.tail.CompareAndSwap(n.id, 0)
		return true
	default:
		return l.tail.CompareAndSwap(n.id, 0)
	}
}

// Bugs of the CLH lock.
const (
	ownNodeAgain bug = "queues up again with a node that its successor may still poll"
	busyLate     bug = "marks its node busy after it has queued up"
)

type clh struct {
	bug  bug
	busy []atomics.Uint32
	tail atomics.Uint32
}

func newCLH(n int, b bug) harness.Local {
	l := &clh{bug: b, busy: make([]atomics.Uint32, n+1)}
	return perWorker(func(i int) sync.Locker {
		mine, pred := uint32(i)+1, uint32(0)
		return funcs{
			lock: func() {
				if l.bug != busyLate {
					l.busy[mine].StoreRelease(1)
				}
				pred = l.tail.Swap(mine)
				if l.bug == busyLate {
					l.busy[mine].StoreRelease(1)
				}
				for l.busy[pred].Load() == 1 {
					atomics.SpinHint(1)
				}
			},
			unlock: func() {
				l.busy[mine].StoreRelease(0)
				if l.bug != ownNodeAgain {
					mine = pred
				}
			},
		}
	})
}

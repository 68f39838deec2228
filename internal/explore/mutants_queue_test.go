//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

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

// Bugs of Fissile locks.
const (
	waitsForTwo   bug = "once impatient takes the word only if it is handed over"
	blindTake     bug = "takes the word for the alpha by a load and a store"
	handsOverLate bug = "frees the word, and then hands it over"
	staysCross    bug = "leaves its impatience to the next alpha, which does not expect it"
)

// fissile is the lock of Dice and Kogan without its first phase: the alpha is
// impatient at once. The word is 0 free, 1 held, or 2 left to the alpha.
type fissile struct {
	bug              bug
	inner            harness.Local
	outer, impatient atomics.Uint32
}

func newFissile(n int, b bug) harness.Local {
	l := &fissile{bug: b, inner: newMCS(n, "")}
	return perWorker(func(i int) sync.Locker {
		inner := l.inner.Worker(i)
		return funcs{
			lock: func() {
				if l.outer.CompareAndSwap(0, 1) {
					return
				}
				inner.Lock()
				l.await()
				inner.Unlock()
			},
			unlock: l.unlock,
		}
	})
}

// await takes the word for the alpha.
func (l *fissile) await() {
	if l.bug == staysCross && l.outer.Swap(1) == 0 { // a first exchange that knows 0 and 1 only
		return
	}
	for l.impatient.StoreRelease(2); !l.take(); {
		atomics.SpinHint(1)
	}
	if l.bug != staysCross {
		l.impatient.StoreRelease(0)
	}
}

func (l *fissile) take() bool {
	switch l.bug {
	case waitsForTwo:
		return l.outer.CompareAndSwap(2, 1)
	case blindTake:
		if l.outer.Load() == 1 {
			return false
		}
		l.outer.Store(1)
		return true
	default:
		return l.outer.Swap(1) != 1
	}
}

func (l *fissile) unlock() {
	if l.bug == handsOverLate {
		l.outer.StoreRelease(0)
		if l.impatient.Load() == 2 {
			l.outer.StoreRelease(2)
		}
		return
	}
	l.outer.StoreRelease(l.impatient.Load())
}

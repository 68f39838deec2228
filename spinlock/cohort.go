package spinlock

import (
	"slices"
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

var cohort = &harness.Variant{
	Name:   "cohort",
	Doc:    "a ticket lock for each node of the machine, under one for all of them",
	Paper:  "Dice, Marathe & Shavit 2012",
	Family: harness.Spin,
	Status: harness.Reference,
	Local:  newCohort,
}

// cohortLock is C-TKT-TKT: a worker takes the ticket lock of its node, and then
// the global one unless the worker before it on the node has left it to the
// node. So the lock and what it guards stay in one cache for up to cohortBound
// turns.
//
// # Trade-offs
//
// It pays where a cache line takes much longer between nodes than inside one,
// and costs two locks instead of one where nobody of the same node waits. Which
// node a worker is on must be known and stay so, since Go cannot ask: it comes
// from Setup.Nodes, and workers that are not bound to processors are one node.
// With one node there is nothing to choose: then it is a [Ticket] and no more.
//
// Service is first come, first served inside a node, and among nodes but for the
// bound.
//
// # Memory ordering
//
// That of [Ticket]. What a node has been left is guarded by its own lock.
//
// # References
//
// Dave Dice, Virendra J. Marathe and Nir Shavit, "Lock Cohorting: A General
// Technique for Designing NUMA Locks", PPoPP 2012, pages 247-256, section 3.3.
// DOI 10.1145/2145816.2145848.
type cohortLock struct {
	global *Ticket
	nodes  []cohortNode
	of     []int // node of each worker
}

// cohortBound is how many turns a node keeps the lock while others may wait: the
// paper's figure.
const cohortBound = 64

// cohortNode is the lock of one node.
type cohortNode struct {
	local  *Ticket
	lock   *cohortLock
	turns  int  // since the node took the global lock; guarded by local
	passed bool // the node has the global lock; guarded by local
	_      atomics.CacheLinePad
}

func newCohort(s harness.Setup) harness.Local {
	if len(s.Nodes) == 0 || slices.Min(s.Nodes) == slices.Max(s.Nodes) {
		return harness.Shared(NewTicket(s))
	}
	l := &cohortLock{global: NewTicket(s), nodes: make([]cohortNode, slices.Max(s.Nodes)+1), of: s.Nodes}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].local = l, NewTicket(s)
	}
	return l
}

// Worker returns the handle of worker i: the lock of its node.
func (l *cohortLock) Worker(i int) sync.Locker { return &l.nodes[l.of[i]] }

func (n *cohortNode) Lock() {
	n.local.Lock()
	if !n.passed {
		n.lock.global.Lock()
		n.turns = 0
	}
}

func (n *cohortNode) Unlock() {
	n.turns++
	n.passed = n.turns < cohortBound && n.waiters()
	if !n.passed {
		n.lock.global.Unlock()
	}
	n.local.Unlock()
}

// waiters reports whether somebody of the node waits for the lock that the
// caller holds.
func (n *cohortNode) waiters() bool { return n.local.next.Load()-n.local.serving.Load() > 1 }

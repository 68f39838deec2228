package spinlock

import (
	"fmt"
	"slices"

	"locklab/atomics"
	"locklab/internal/waiting"
)

// Cohort is the lock C-TKT-TKT of Dice, Marathe and Shavit: a worker takes the ticket lock of
// its node and then the global one, unless the previous holder passed the global lock to its
// node. So the lock and the data that it guards stay in one cache for up to cohortBound
// acquisitions.
//
// # Trade-offs
//
// It pays if a cache line takes much longer between nodes than inside one. It costs two locks
// instead of one if no other worker of the node waits. The node of a worker must be known and
// must not change, since Go cannot ask for it: it comes from [Options]. Workers that are not
// bound to processors form one node. With one node use [Ticket], which is half of this lock.
//
// Service is first come, first served inside a node and, except for the bound, among nodes.
//
// # Memory ordering
//
// As for [Ticket]. The lock of a node guards the words taken and passed of that node.
//
// # References
//
// Dave Dice, Virendra J. Marathe and Nir Shavit, "Lock Cohorting: A General Technique for
// Designing NUMA Locks", PPoPP 2012, pages 247-256, section 3.3. DOI 10.1145/2145816.2145848.
type Cohort struct {
	global *Ticket
	nodes  []CohortNode
	of     []int
}

// cohortBound is the maximum of acquisitions in a row by a node, as in the paper.
const cohortBound = 64

// CohortNode is the handle of the workers of one node: the lock of that node.
type CohortNode struct {
	local  *Ticket
	lock   *Cohort
	taken  guarded // acquisitions since the node took the global lock; guarded by local
	passed guarded // 1 if the node has the global lock; guarded by local
	_      atomics.CacheLinePad
}

// NewCohort returns a free lock for that many workers, at least 1, on the nodes in
// o.Nodes. It panics if o.Nodes is neither nil nor a node, 0 or more, for each worker.
func NewCohort(workers int, o Options) *Cohort {
	o.check(workers)
	of := slices.Clone(o.Nodes)
	if of == nil {
		of = make([]int, workers)
	}
	if len(of) != workers || slices.Min(of) < 0 {
		panic(fmt.Sprintf("locklab: Nodes is %v for %d workers: want a node, 0 or more, for each", of, workers))
	}
	l := &Cohort{global: NewTicket(workers, o), nodes: make([]CohortNode, slices.Max(of)+1), of: of}
	for i := range l.nodes {
		l.nodes[i].lock, l.nodes[i].local = l, NewTicket(workers, o)
	}
	return l
}

// Worker returns the handle of worker i, 0 <= i < workers, which its node shares.
func (l *Cohort) Worker(i int) *CohortNode {
	waiting.CheckWorker(i, len(l.of))
	return &l.nodes[l.of[i]]
}

// Lock takes the lock and waits for it if need be.
func (n *CohortNode) Lock() {
	n.local.Lock()
	if n.passed.get() == 0 {
		n.lock.global.Lock()
		n.taken.set(0)
	}
}

// Unlock passes the lock to the next worker of the node, or to another node.
func (n *CohortNode) Unlock() {
	taken := n.taken.get() + 1
	n.taken.set(taken)
	if taken < cohortBound && n.waiters() {
		n.passed.set(1)
	} else {
		n.passed.set(0)
		n.lock.global.Unlock()
	}
	n.local.Unlock()
}

// The caller holds the local lock.
func (n *CohortNode) waiters() bool { return n.local.next.Load()-n.local.serving.Load() > 1 }

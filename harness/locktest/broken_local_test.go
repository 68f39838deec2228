package locktest

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"locklab/harness"
)

// Locks with one well-known mistake each. Their waiters end when the lock is abandoned.

type breakage struct {
	name   string
	rule   string
	chance bool // the rule depends on chance, and so needs the processors for itself
	stuck  bool // the rule detects that the lock is stuck
	traits harness.Traits
	local  func(q *quitter, workers int) harness.Local
}

func shared(l func(q *quitter) sync.Locker) func(*quitter, int) harness.Local {
	return func(q *quitter, _ int) harness.Local { return harness.Shared(l(q)) }
}

var (
	newNoop  = shared(func(*quitter) sync.Locker { return noop{} })
	newMutex = shared(func(*quitter) sync.Locker { return new(sync.Mutex) })
)

var breakages = slices.Concat(brokenLocks, brokenQueues, brokenClaims, brokenReaders)

var brokenLocks = []breakage{
	{name: "no-op", rule: "exclusion", chance: true, local: newNoop},
	{name: "no-op", rule: "lost-update", chance: true, local: newNoop},
	{name: "load-then-store", rule: "preemption", chance: true, local: shared(func(q *quitter) sync.Locker { return &loadThenStore{brokenTAS: brokenTAS{q: q}} })},
	{name: "load-yield-store", rule: "exclusion", chance: true, local: shared(func(q *quitter) sync.Locker { return &loadThenStore{brokenTAS{q: q}, runtime.Gosched} })},
	{name: "early-ticket", rule: "exclusion", chance: true, local: shared(func(q *quitter) sync.Locker { return &brokenTicket{q: q, early: 1} })},
	{name: "double-grant", rule: "exclusion", chance: true, local: shared(func(q *quitter) sync.Locker { return &brokenTicket{q: q, doubleEvery: 1000} })},
	{name: "uniprocessor", rule: "preemption", chance: true, local: shared(func(q *quitter) sync.Locker { return &uniprocessor{brokenTAS: brokenTAS{q: q}} })},
	{name: "lost-release", rule: "liveness", stuck: true, local: shared(func(q *quitter) sync.Locker { return &lostRelease{brokenTAS: brokenTAS{q: q}} })},
	{name: "lost-successor", rule: "liveness", stuck: true, local: newForgetfulMCS},
	{name: "own-node-again", rule: "liveness", stuck: true, local: newStingyCLH},
	{name: "single-use", rule: "reuse", stuck: true, local: newSingleUse},
	{name: "always-yields", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: shared(func(q *quitter) sync.Locker { return &brokenTAS{q: q} })},
	{name: "always-spins", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: shared(func(q *quitter) sync.Locker { return &busyTAS{brokenTAS{q: q}} })},
	{name: "always-sleeps", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: newMutex},
	{name: "try-takes-all", rule: "try", local: shared(func(q *quitter) sync.Locker { return &tryTakesAll{brokenTAS{q: q}} })},
	{name: "try-refuses-all", rule: "try", local: shared(func(q *quitter) sync.Locker { return &tryRefusesAll{brokenTAS{q: q}} })},
	{name: "try-stays-in-line", rule: "try", stuck: true, local: shared(func(q *quitter) sync.Locker { return &tryStaysInLine{brokenTicket{q: q}} })},
}

// correct are locks that keep their claims: a suite that rejects everything proves nothing.
var correct = []breakage{
	{name: "mutex", traits: harness.Traits{Bounded: true}, local: newMutex},
	{name: "queue", traits: harness.Traits{FIFO: true, Allocates: true}, local: newQueue(queueFaults{})},
	{name: "ticket", traits: harness.Traits{FIFO: true}, local: shared(func(q *quitter) sync.Locker { return &brokenTicket{q: q} })},
	{name: "semaphore", traits: harness.Traits{FIFO: true, Permits: 3}, local: shared(func(*quitter) sync.Locker { return newPermits(3) })},
	{name: "reentrant", traits: harness.Traits{Reentrant: true}, local: func(_ *quitter, n int) harness.Local { return newReentrant(n, false) }},
	{name: "readers", traits: harness.Traits{Bounded: true, ReadWrite: true}, local: shared(func(*quitter) sync.Locker { return new(sync.RWMutex) })},
	{name: "sequence", traits: harness.Traits{ReadWrite: true}, local: newSeq(seqFaults{})},
}

type quitter struct{ quit atomic.Bool }

func (q *quitter) wait() {
	q.check()
	runtime.Gosched()
}

func (q *quitter) check() {
	if q.quit.Load() {
		runtime.Goexit()
	}
}

func (b breakage) variant() (*harness.Variant, *quitter) {
	q := new(quitter)
	return &harness.Variant{
		Name: b.name, Doc: "broken on purpose", Paper: "none",
		Family: harness.Spin, Status: harness.Broken, Traits: b.traits,
		Local: func(s harness.Setup) harness.Local { return b.local(q, s.Workers) },
	}, q
}

type perWorker []sync.Locker

func (p perWorker) Worker(i int) sync.Locker { return p[i] }

type noop struct{}

func (noop) Lock()   {}
func (noop) Unlock() {}

// brokenTAS is correct; types that embed it add a mistake.
type brokenTAS struct {
	q    *quitter
	held atomic.Bool
}

func (l *brokenTAS) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		l.q.wait()
	}
}
func (l *brokenTAS) Unlock() { l.held.Store(false) }

type busyTAS struct{ brokenTAS }

func (l *busyTAS) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		l.q.check()
	}
}

type loadThenStore struct {
	brokenTAS
	between func()
}

func (l *loadThenStore) Lock() {
	for l.held.Load() {
		l.q.wait()
	}
	if l.between != nil {
		l.between()
	}
	l.held.Store(true)
}

// uniprocessor assumes that with one processor no worker can interfere.
type uniprocessor struct{ brokenTAS }

func (l *uniprocessor) Lock() {
	if runtime.GOMAXPROCS(0) > 1 {
		l.brokenTAS.Lock()
	}
}

type brokenTicket struct {
	q             *quitter
	early         uint32
	doubleEvery   uint32
	next, serving atomic.Uint32
}

func (l *brokenTicket) Lock() { l.await(l.next.Add(1) - 1) }

func (l *brokenTicket) await(mine uint32) {
	for int32(mine-l.serving.Load()) > int32(l.early) {
		l.q.wait()
	}
}

func (l *brokenTicket) Unlock() {
	n := l.serving.Add(1)
	if l.doubleEvery > 0 && n%l.doubleEvery == 0 {
		l.serving.Add(1)
	}
}

type lostRelease struct {
	brokenTAS
	calls atomic.Uint32
}

func (l *lostRelease) Unlock() {
	if l.calls.Add(1)%1000 != 0 {
		l.brokenTAS.Unlock()
	}
}

// forgetfulMCS is MCS whose Unlock, without a successor, frees the lock by a store: a
// waiter that queues up in between is never woken.
type forgetfulMCS struct {
	q     *quitter
	tail  atomic.Pointer[mcsNode]
	nodes []mcsNode
}

type mcsNode struct {
	lock    *forgetfulMCS
	next    atomic.Pointer[mcsNode]
	granted atomic.Bool
}

func newForgetfulMCS(q *quitter, workers int) harness.Local {
	l := &forgetfulMCS{q: q, nodes: make([]mcsNode, workers)}
	for i := range l.nodes {
		l.nodes[i].lock = l
	}
	return l
}

func (l *forgetfulMCS) Worker(i int) sync.Locker { return &l.nodes[i] }

func (n *mcsNode) Lock() {
	n.next.Store(nil)
	n.granted.Store(false)
	if pred := n.lock.tail.Swap(n); pred != nil {
		pred.next.Store(n)
		for !n.granted.Load() {
			n.lock.q.wait()
		}
	}
}

func (n *mcsNode) Unlock() {
	if next := n.next.Load(); next != nil {
		next.granted.Store(true)
		return
	}
	runtime.Gosched() // enter a successor
	n.lock.tail.Store(nil)
}

// stingyCLH keeps its nodes: it may make one busy again before its successor has loaded it.
type stingyCLH struct {
	q    *quitter
	tail atomic.Pointer[clhNode]
}

type clhNode struct{ busy atomic.Bool }

type clhWorker struct {
	lock *stingyCLH
	mine *clhNode
}

func newStingyCLH(q *quitter, workers int) harness.Local {
	l := &stingyCLH{q: q}
	l.tail.Store(new(clhNode))
	p := make(perWorker, workers)
	for i := range p {
		p[i] = &clhWorker{l, new(clhNode)}
	}
	return p
}

func (h *clhWorker) Lock() {
	h.mine.busy.Store(true)
	for pred := h.lock.tail.Swap(h.mine); pred.busy.Load(); {
		h.lock.q.wait()
	}
}
func (h *clhWorker) Unlock() { h.mine.busy.Store(false) }

type singleUse struct {
	lock *brokenTAS
	used bool
}

func newSingleUse(q *quitter, workers int) harness.Local {
	l := &brokenTAS{q: q}
	p := make(perWorker, workers)
	for i := range p {
		p[i] = &singleUse{lock: l}
	}
	return p
}

func (h *singleUse) Lock() {
	if h.used {
		h.lock.held.Store(true) // as if the node were still in the queue
	}
	h.used = true
	h.lock.Lock()
}
func (h *singleUse) Unlock() { h.lock.Unlock() }

type tryTakesAll struct{ brokenTAS }

func (l *tryTakesAll) TryLock() bool { l.held.Store(true); return true }

type tryRefusesAll struct{ brokenTAS }

func (l *tryRefusesAll) TryLock() bool { return false }

type tryStaysInLine struct{ brokenTicket }

func (l *tryStaysInLine) TryLock() bool {
	return l.next.Add(1)-1 == l.serving.Load()
}

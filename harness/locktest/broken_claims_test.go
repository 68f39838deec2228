package locktest

import (
	"sync"
	"sync/atomic"

	"locklab/harness"
)

// brokenClaims exclude, but violate their claims.
var brokenClaims = []breakage{
	{name: "barging", rule: "fifo", traits: harness.Traits{FIFO: true}, local: shared(func(q *quitter) sync.Locker { return &brokenTAS{q: q} })},
	{name: "parking-barger", rule: "fifo", traits: harness.Traits{FIFO: true}, local: newMutex},
	{name: "mostly-in-order", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true}, local: shared(func(q *quitter) sync.Locker { return &mostlyInOrder{brokenTAS: brokenTAS{q: q}, push: 1} })},
	{name: "mostly-in-order-by-doorway", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true, Doorway: true}, local: shared(func(q *quitter) sync.Locker { return &mostlyInOrder{brokenTAS: brokenTAS{q: q}, push: 2} })},

	{name: "readers-unclaimed", rule: "claims", local: shared(func(*quitter) sync.Locker { return new(sync.RWMutex) })},
	{name: "readers-missing", rule: "claims", traits: harness.Traits{ReadWrite: true}, local: newMutex},
	{name: "readers-of-two-kinds", rule: "claims", traits: harness.Traits{ReadWrite: true}, local: shared(func(*quitter) sync.Locker { return new(twoKinds) })},

	{name: "one-permit", rule: "permits", stuck: true, traits: harness.Traits{Permits: 3}, local: newMutex},
	{name: "four-permits", rule: "permits", traits: harness.Traits{Permits: 3}, local: shared(func(*quitter) sync.Locker { return newPermits(4) })},
	{name: "lends-permits", rule: "permits", chance: true, traits: harness.Traits{Permits: 3}, local: shared(func(*quitter) sync.Locker { return &lender{permits: newPermits(3)} })},
	{name: "excludes-none", rule: "exclusion", chance: true, traits: harness.Traits{Permits: 3}, local: shared(func(*quitter) sync.Locker { return newPermits(5) })},

	{name: "wakes-to-compete", rule: "starvation", traits: harness.Traits{Bounded: true}, local: shared(func(q *quitter) sync.Locker { return &competing{brokenTAS{q: q}, make(chan struct{}, 1)} })},
	{name: "allocates", rule: "no-allocation", chance: true, local: newQueue(queueFaults{})},
	{name: "allocates-seldom", rule: "no-allocation", chance: true, local: newFlag(flagFaults{allocateEvery: 32})},
	{name: "reentrant-unclaimed", rule: "not-reentrant", local: func(_ *quitter, n int) harness.Local { return newReentrant(n, false) }},
	{name: "reentrant-by-try", rule: "not-reentrant", local: newFlag(flagFaults{takeEvery: 1})},
	{name: "not-reentrant", rule: "reentrant", stuck: true, traits: harness.Traits{Reentrant: true}, local: newMutex},
	{name: "freed-at-once", rule: "reentrant", traits: harness.Traits{Reentrant: true}, local: func(_ *quitter, n int) harness.Local { return newReentrant(n, true) }},
	{name: "all-enter", rule: "reentrant", traits: harness.Traits{Reentrant: true}, local: newNoop},
}

// mostlyInOrder lets push consecutive arrivals of sixteen bypass the queue of a ticket lock.
type mostlyInOrder struct {
	brokenTAS     // held by the worker inside
	push          uint32
	calls         atomic.Uint32
	next, serving atomic.Uint32 // the queue
	pushing       atomic.Uint32 // arrivals that bypass the queue
	queued        bool          // the holder came through the queue; guarded by the lock
}

func (l *mostlyInOrder) Lock() {
	queued := l.calls.Add(1)%16 >= l.push
	if queued {
		for mine := l.next.Add(1) - 1; l.serving.Load() != mine || l.pushing.Load() != 0; {
			l.q.wait()
		}
		l.brokenTAS.Lock()
	} else {
		l.pushing.Add(1)
		l.brokenTAS.Lock()
		l.pushing.Add(^uint32(0))
	}
	l.queued = queued
}

func (l *mostlyInOrder) Unlock() {
	queued := l.queued
	l.brokenTAS.Unlock()
	if queued {
		l.serving.Add(1)
	}
}

// competing wakes a waiter on release, but any newcomer may take the lock first.
type competing struct {
	brokenTAS
	wake chan struct{}
}

func (l *competing) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		l.q.sleep(l.wake)
	}
}

func (l *competing) Unlock() {
	l.brokenTAS.Unlock()
	select {
	case l.wake <- struct{}{}:
	default:
	}
}

type twoKinds struct{ sync.RWMutex }

func (*twoKinds) ReadBegin() uint64     { return 0 }
func (*twoKinds) ReadRetry(uint64) bool { return false }

type permits chan struct{}

func newPermits(n int) permits { return make(permits, n) }
func (p permits) Lock()        { p <- struct{}{} }
func (p permits) Unlock()      { <-p }
func (p permits) TryLock() bool {
	select {
	case p <- struct{}{}:
		return true
	default:
		return false
	}
}

type lender struct {
	permits
	calls atomic.Uint32
	lent  atomic.Int32
}

func (l *lender) Lock() {
	if l.calls.Add(1)%64 != 0 {
		l.permits.Lock()
		return
	}
	l.lent.Add(1)
}

func (l *lender) Unlock() {
	if l.lent.Add(-1) >= 0 {
		return
	}
	l.lent.Add(1)
	l.permits.Unlock()
}

type reentrant struct {
	inner  sync.Mutex
	hasty  bool // the first Unlock frees it
	holder atomic.Pointer[reentrantHandle]
	depth  int // guarded by inner
}

type reentrantHandle struct{ *reentrant }

func newReentrant(workers int, hasty bool) harness.Local {
	l := &reentrant{hasty: hasty}
	p := make(perWorker, workers)
	for i := range p {
		p[i] = &reentrantHandle{l}
	}
	return p
}

func (h *reentrantHandle) Lock() {
	if h.holder.Load() != h {
		h.inner.Lock()
		h.holder.Store(h)
	}
	h.depth++
}

func (h *reentrantHandle) TryLock() bool {
	if h.holder.Load() != h {
		if !h.inner.TryLock() {
			return false
		}
		h.holder.Store(h)
	}
	h.depth++
	return true
}

func (h *reentrantHandle) Unlock() {
	if h.holder.Load() != h {
		return // it was hasty
	}
	if h.depth--; h.depth == 0 || h.hasty {
		h.depth = 0
		h.holder.Store(nil)
		h.inner.Unlock()
	}
}

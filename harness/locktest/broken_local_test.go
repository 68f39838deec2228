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

func shareLock(l func(q *quitter) sync.Locker) func(*quitter, int) harness.Local {
	return func(q *quitter, _ int) harness.Local { return harness.Shared(l(q)) }
}

var (
	newNoop  = shareLock(func(*quitter) sync.Locker { return noop{} })
	newMutex = shareLock(func(*quitter) sync.Locker { return new(sync.Mutex) })
)

var breakages = slices.Concat(brokenLocks, brokenQueues, brokenClaims, brokenReaders)

var brokenLocks = []breakage{
	{name: "no-op", rule: "exclusion", chance: true, local: newNoop},
	{name: "no-op", rule: "lost-update", chance: true, local: newNoop},
	{name: "load-then-store", rule: "preemption", chance: true, local: shareLock(func(q *quitter) sync.Locker { return &loadThenStore{brokenTAS: brokenTAS{q: q}} })},
	{name: "load-yield-store", rule: "exclusion", chance: true, local: shareLock(func(q *quitter) sync.Locker {
		return &loadThenStore{brokenTAS: brokenTAS{q: q}, between: runtime.Gosched}
	})},
	{name: "makes-itself-twice", rule: "first-use", chance: true, local: shareLock(func(q *quitter) sync.Locker { return &lazyTAS{q: q} })},
	{name: "early-ticket", rule: "exclusion", chance: true, local: newTicket(ticketFaults{early: 1})},
	{name: "double-grant", rule: "exclusion", chance: true, local: newTicket(ticketFaults{doubleEvery: 1000})},
	{name: "uniprocessor", rule: "preemption", chance: true, local: shareLock(func(q *quitter) sync.Locker { return &uniprocessor{brokenTAS: brokenTAS{q: q}} })},
	{name: "lost-release", rule: "liveness", stuck: true, local: newFlag(flagFaults{loseEvery: 1000})},
	{name: "single-use", rule: "reuse", stuck: true, local: newSingleUse},
	{name: "always-yields", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: shareLock(func(q *quitter) sync.Locker { return &brokenTAS{q: q} })},
	{name: "always-spins", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: shareLock(func(q *quitter) sync.Locker { return &busyTAS{brokenTAS{q: q}} })},
	{name: "always-sleeps", rule: "wait-policy", chance: true, traits: harness.Traits{FollowsWait: true}, local: newMutex},
	{name: "try-takes-all", rule: "try", local: newFlag(flagFaults{takeEvery: 1})},
	{name: "try-refuses-all", rule: "try", local: newFlag(flagFaults{refuseEvery: 1})},
	{name: "try-stays-in-line", rule: "try", stuck: true, local: shareLock(func(q *quitter) sync.Locker { return &tryStaysInLine{brokenTicket{q: q}} })},
}

// correct are locks that keep their claims: a suite that rejects everything proves nothing.
var correct = []breakage{
	{name: "mutex", traits: harness.Traits{Bounded: true}, local: newMutex},
	{name: "queue", traits: harness.Traits{FIFO: true, Allocates: true}, local: newQueue(queueFaults{})},
	{name: "ticket", traits: harness.Traits{FIFO: true}, local: newTicket(ticketFaults{})},
	{name: "semaphore", traits: harness.Traits{FIFO: true, Permits: 3}, local: shareLock(func(*quitter) sync.Locker { return newPermits(3) })},
	{name: "reentrant", traits: harness.Traits{Reentrant: true}, local: newReentrant(reentrantFaults{})},
	{name: "readers", traits: harness.Traits{Bounded: true, ReadWrite: true}, local: shareLock(func(*quitter) sync.Locker { return new(sync.RWMutex) })},
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

// lazyTAS makes its flag when it is first used, perhaps twice.
type lazyTAS struct {
	q    *quitter
	flag atomic.Pointer[brokenTAS]
}

func (l *lazyTAS) Lock() {
	if l.flag.Load() == nil {
		l.flag.Store(&brokenTAS{q: l.q})
	}
	l.flag.Load().Lock()
}
func (l *lazyTAS) Unlock() { l.flag.Load().Unlock() }

type busyTAS struct{ brokenTAS }

func (l *busyTAS) Lock() {
	for !l.held.CompareAndSwap(false, true) {
		l.q.check()
	}
}

type loadThenStore struct {
	brokenTAS
	between func()
	every   uint32 // if not 0, only one acquisition in this many has two steps
	calls   atomic.Uint32
}

func (l *loadThenStore) Lock() {
	if l.every > 0 && !isNth(&l.calls, l.every) {
		l.brokenTAS.Lock()
		return
	}
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

// flagFaults are mistakes of a lock that is one flag.
type flagFaults struct {
	opensAt        uint32 // this acquisition does not wait
	enterEvery     uint32 // one acquisition of a held lock in this many does not wait
	loseEvery      uint32 // one release in this many does not free the lock
	allocateEvery  uint32 // one release in this many allocates
	allocateBehind int32  // a worker allocates if this many wait
	takeEvery      uint32 // one TryLock in this many, during one hold, takes the held lock
	refuseEvery    uint32 // one TryLock in this many refuses
	freesAt        uint32 // this TryLock of a held lock frees it
}

type flagLock struct {
	flagFaults
	brokenTAS
	calls, waits, releases, tries, refused atomic.Uint32

	waiting atomic.Int32
	kept    atomic.Pointer[[64]byte]
}

func newFlag(f flagFaults) func(*quitter, int) harness.Local {
	return shareLock(func(q *quitter) sync.Locker { return &flagLock{flagFaults: f, brokenTAS: brokenTAS{q: q}} })
}

func isNth(n *atomic.Uint32, every uint32) bool { return every > 0 && n.Add(1)%every == 0 }

func (l *flagLock) Lock() {
	switch {
	case l.opensAt > 0 && l.calls.Add(1) == l.opensAt:
	case l.held.CompareAndSwap(false, true) || isNth(&l.waits, l.enterEvery):
	default:
		if l.waiting.Add(1) > l.allocateBehind && l.allocateBehind > 0 {
			l.kept.Store(new([64]byte))
		}
		l.brokenTAS.Lock()
		l.waiting.Add(-1)
	}
}

func (l *flagLock) TryLock() bool {
	switch {
	case isNth(&l.tries, l.refuseEvery):
		return false
	case l.held.CompareAndSwap(false, true):
		return true
	case l.freesAt > 0 && l.refused.Add(1) == l.freesAt:
		l.held.Store(false)
	}
	return isNth(&l.tries, l.takeEvery)
}

func (l *flagLock) Unlock() {
	if l.takeEvery > 0 {
		l.tries.Store(0)
	}
	if isNth(&l.releases, l.allocateEvery) {
		l.kept.Store(new([64]byte))
	}
	if !isNth(&l.releases, l.loseEvery) {
		l.brokenTAS.Unlock()
	}
}

// ticketFaults are mistakes of a ticket lock.
type ticketFaults struct {
	early       uint32 // so many workers ahead do not keep a worker out
	doubleEvery uint32 // one release in this many admits two workers
	bits        int    // tickets have so many bits, and the counter of those served has more
	wrap, ahead uint32 // a worker whose ticket is a multiple of wrap enters if exactly ahead workers precede it
}

type brokenTicket struct {
	ticketFaults
	q             *quitter
	next, serving atomic.Uint32
}

func newTicket(f ticketFaults) func(*quitter, int) harness.Local {
	return shareLock(func(q *quitter) sync.Locker { return &brokenTicket{ticketFaults: f, q: q} })
}

func (l *brokenTicket) Lock() {
	mine := l.next.Add(1) - 1
	if l.wrap > 0 && mine%l.wrap == 0 && mine-l.serving.Load() == l.ahead {
		return
	}
	if l.bits > 0 {
		for mine &= 1<<l.bits - 1; l.serving.Load() != mine; {
			l.q.wait()
		}
		return
	}
	for int32(mine-l.serving.Load()) > int32(l.early) {
		l.q.wait()
	}
}

func (l *brokenTicket) Unlock() {
	if n := l.serving.Add(1); l.doubleEvery > 0 && n%l.doubleEvery == 0 {
		l.serving.Add(1)
	}
}

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

type tryStaysInLine struct{ brokenTicket }

func (l *tryStaysInLine) TryLock() bool {
	return l.next.Add(1)-1 == l.serving.Load()
}

package locktest

import (
	"sync"
	"sync/atomic"

	"locklab/harness"
)

// brokenClaims exclude, but violate their claims.
var brokenClaims = []breakage{
	{name: "barging", rule: "fifo", traits: harness.Traits{FIFO: true}, local: shareLock(func(q *quitter) sync.Locker { return &brokenTAS{q: q} })},
	{name: "parking-barger", rule: "fifo", traits: harness.Traits{FIFO: true}, local: newMutex},
	{name: "mostly-in-order", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true}, local: shareLock(func(q *quitter) sync.Locker { return &mostlyInOrder{brokenTAS: brokenTAS{q: q}, push: 1} })},
	{name: "mostly-in-order-by-doorway", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true, Doorway: true}, local: shareLock(func(q *quitter) sync.Locker { return &mostlyInOrder{brokenTAS: brokenTAS{q: q}, push: 2} })},

	{name: "readers-unclaimed", rule: "claims", local: shareLock(func(*quitter) sync.Locker { return new(sync.RWMutex) })},
	{name: "readers-missing", rule: "claims", traits: harness.Traits{ReadWrite: true}, local: newMutex},
	{name: "readers-of-two-kinds", rule: "claims", traits: harness.Traits{ReadWrite: true}, local: shareLock(func(*quitter) sync.Locker { return new(twoKinds) })},

	{name: "one-permit", rule: "permits", stuck: true, traits: harness.Traits{Permits: 3}, local: newMutex},
	{name: "four-permits", rule: "permits", traits: harness.Traits{Permits: 3}, local: shareLock(func(*quitter) sync.Locker { return newPermits(4) })},
	{name: "lends-permits", rule: "permits", chance: true, traits: harness.Traits{Permits: 3}, local: shareLock(func(*quitter) sync.Locker { return &lender{permits: newPermits(3)} })},
	{name: "excludes-none", rule: "exclusion", chance: true, traits: harness.Traits{Permits: 3}, local: shareLock(func(*quitter) sync.Locker { return newPermits(5) })},

	{name: "wakes-to-compete", rule: "starvation", traits: harness.Traits{Bounded: true}, local: shareLock(func(q *quitter) sync.Locker { return &competing{brokenTAS{q: q}, make(chan struct{}, 1)} })},
	{name: "allocates", rule: "no-allocation", chance: true, local: newQueue(queueFaults{})},
	{name: "allocates-behind-two", rule: "no-allocation", chance: true, local: newFlag(flagFaults{allocateBehind: 2})},
	{name: "allocates-seldom", rule: "no-allocation", chance: true, local: newFlag(flagFaults{allocateEvery: 1000})},
	{name: "reentrant-unclaimed", rule: "not-reentrant", local: newReentrant(reentrantFaults{})},
	{name: "reentrant-by-try", rule: "not-reentrant", local: newFlag(flagFaults{takeEvery: 1})},
	{name: "reentrant-after-try", rule: "not-reentrant", local: newReentrant(reentrantFaults{tries: true})},
	{name: "not-reentrant", rule: "reentrant", stuck: true, traits: harness.Traits{Reentrant: true}, local: newMutex},
	{name: "freed-at-once", rule: "reentrant", traits: harness.Traits{Reentrant: true}, local: newReentrant(reentrantFaults{hasty: true})},
	{name: "freed-for-a-waiter", rule: "reentrant", traits: harness.Traits{Reentrant: true}, local: newReentrant(reentrantFaults{polite: true})},
	{name: "depth-of-eight-bits", rule: "reentrant", traits: harness.Traits{Reentrant: true}, local: newReentrant(reentrantFaults{mask: 255})},
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

type reentrantFaults struct {
	hasty  bool // the first Unlock frees it
	polite bool // the first Unlock frees it if another worker waits
	tries  bool // only a holder by TryLock may enter again
	mask   int  // these bits of the depth are counted; 0 is all
}

type reentrant struct {
	reentrantFaults
	inner   sync.Mutex
	holder  atomic.Pointer[reentrantHandle]
	waiting atomic.Int32
	depth   int // guarded by inner
}

type reentrantHandle struct{ *reentrant }

func newReentrant(f reentrantFaults) func(*quitter, int) harness.Local {
	return func(_ *quitter, workers int) harness.Local {
		l := &reentrant{reentrantFaults: f}
		p := make(perWorker, workers)
		for i := range p {
			p[i] = &reentrantHandle{l}
		}
		return p
	}
}

func (h *reentrantHandle) Lock() {
	if h.holder.Load() != h {
		h.waiting.Add(1)
		h.inner.Lock()
		h.waiting.Add(-1)
		if !h.tries {
			h.holder.Store(h)
		}
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
	if h.holder.Load() != h && !h.tries {
		return // it was hasty
	}
	h.depth--
	if h.depth == 0 || h.mask > 0 && h.depth&h.mask == 0 || h.hasty || h.polite && h.waiting.Load() > 0 {
		h.depth = 0
		h.holder.Store(nil)
		h.inner.Unlock()
	}
}

// A fault is one mistake of memoryServer's lock; none is a correct lock.
type fault string

const none fault = "none"

// The claims of locks with faults.
var (
	lock      = harness.Traits{FIFO: true, Fenced: true}
	semaphore = harness.Traits{Permits: 2} // its holders leave in any order
	again     = harness.Traits{FIFO: true, Fenced: true, Reentrant: true}
	readWrite = harness.Traits{FIFO: true, Fenced: true, ReadWrite: true}
)

// faults are mistakes that published distributed locks have made, and the rules that find them.
var faults = []struct {
	fault  fault
	rule   string
	claims harness.Traits
}{
	{"grants-all", "exclusion", lock},                   // Lock does not wait
	{"grants-too-early", "lost-update", lock},           // sometimes the lock is granted while it is held
	{"loses-wake-ups", "liveness", lock},                // sometimes a release notifies no waiter
	{"serves-last", "fifo", lock},                       // the queue is a stack
	{"leaves-ticket", "cancel", lock},                   // a waiter that gives up stays in the queue
	{"drops-grant", "cancel", lock},                     // a waiter that gives up at the moment of the grant keeps it
	{"ignores-context", "cancel", lock},                 // Lock waits on when its context ends
	{"hides-context-error", "cancel", lock},             // Lock returns its own error
	{"takes-when-ended", "cancel", lock},                // Lock takes a free lock under a context that has ended
	{"stale-unlock-frees", "owner", lock},               // any Unlock frees the lock, though it returns ErrNotHeld
	{"double-unlock-nil", "owner", lock},                // the second Unlock reports success
	{"try-drops-grant", "cancel", lock},                 // TryLock takes a free lock under a context that has ended, and returns an error
	{"unlock-obeys-ctx", "unlock-cancelled", lock},      // Unlock does nothing under a context that has ended
	{"done-stays-open", "lease", lock},                  // Done is never closed
	{"done-is-closed", "lease", lock},                   // Done is closed from the beginning
	{"err-stays-nil", "lease", lock},                    // Err is nil after Unlock
	{"token-stays", "fencing", lock},                    // all tokens are equal
	{"try-token-stays", "fencing", lock},                // TryLock always returns the same token
	{"token-of-arrival", "fencing", lock},               // the token is drawn at the request, and waiters are served in another order
	{"try-waits", "try", lock},                          // TryLock waits like Lock
	{"try-hides-reason", "try", lock},                   // TryLock does not wrap ErrNotAcquired
	{"try-stays", "try", lock},                          // TryLock joins the queue and leaves
	{"client-leaks", "close", lock},                     // a client leaves a goroutine behind
	{"timer-leaks", "close", lock},                      // a client leaves a goroutine behind that a timer started
	{"close-ends-all", "close", lock},                   // closing a session ends its client
	{"one-permit-more", "permits", semaphore},           // a semaphore lets in one more than it claims
	{"one-permit-less", "permits", semaphore},           // a semaphore lets in one less than it claims
	{"waits-for-itself", "reentrant", again},            // a reentrant lock waits for its own holder
	{"frees-at-first", "reentrant", again},              // a reentrant lock is free after the first of two Unlocks
	{"frees-for-waiter", "reentrant", again},            // a reentrant lock is free after the first of two Unlocks if another worker waits
	{"owner-is-client", "reentrant", again},             // a reentrant lock lets in every worker of its owner's client
	{"eight-places", "contenders", lock},                // a ninth waiter is forgotten
	{"loses-few-wake-ups", "wake-up", lock},             // one release of 50 wakes no waiter
	{"forgets-sleepers", "wake-up", lock},               // a waiter of half a second is not notified
	{"lease-seldom-dead", "contenders", lock},           // one lease of ten is over when it is granted
	{"done-seldom-open", "contenders", lock},            // Done of one lease of ten is never closed
	{"token-of-eight-bits", "endurance", lock},          // 255 is followed by 0
	{"grants-late-in-life", "endurance", lock},          // after 200 grants it excludes nobody
	{"starves-one", "starvation", lock},                 // worker 3 is served when no other waits
	{"last-beyond-eight", "fifo", lock},                 // with more waiters the last is served first
	{"try-seldom-takes", "try", lock},                   // one TryLock of 40 takes a held lock
	{"leaves-ticket-of-thirty", "cancel-many", lock},    // every 30th waiter that gives up stays in the queue
	{"leaks-of-thirty", "cancel-many", semaphore},       // every 30th wait that is given up costs a permit
	{"counts-to-three", "read-count", readWrite},        // readers beyond the third are not counted
	{"readers-unclaimed", "claims", lock},               // sessions have RLock, but the traits do not claim it
	{"readers-missing", "claims", readWrite},            // sessions have no RLock
	{"reader-walks-in", "read-exclusion", readWrite},    // RLock does not wait for a writer
	{"reader-slips-in", "read-exclusion", readWrite},    // sometimes RLock does not wait for a writer
	{"writer-walks-in", "read-exclusion", readWrite},    // Lock does not wait for readers
	{"first-reader-frees", "read-exclusion", readWrite}, // the first reader to leave lets a writer in
	{"readers-exclude", "readers-share", readWrite},     // a reader waits for other readers
	{"writers-starve", "writer-progress", readWrite},    // a reader joins others although a writer waits
	{"reader-leaves-ticket", "read-cancel", readWrite},  // a reader that gives up stays in the queue
	{"reader-drops-grant", "read-cancel", readWrite},    // a reader that gives up at the moment of the grant keeps it
	{"gate-stays-shut", "read-cancel", readWrite},       // a writer that gives up leaves the readers behind it waiting
	{"stale-reader-frees", "read-lease", readWrite},     // a reader's second Unlock ends another hold
	{"reader-tokens-behind", "fencing", readWrite},      // readers have a token less than the previous writer's
	{"readers-take-next", "fencing", readWrite},         // readers have the token of the next writer
}

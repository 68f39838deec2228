package locktest

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

// brokenQueues are correct with few waiters, rare use, short waits or a short life.
var brokenQueues = []breakage{
	{name: "eight-places", rule: "contenders", stuck: true, local: newQueue(queueFaults{places: 8})},
	{name: "255-places", rule: "contenders", stuck: true, local: newQueue(queueFaults{places: 255})},
	{name: "slots-of-eight", rule: "contenders", local: shareLock(func(q *quitter) sync.Locker { return &slots{q: q, n: 8} })},
	{name: "slots-of-64", rule: "contenders", local: shareLock(func(q *quitter) sync.Locker { return &slots{q: q, n: 64} })},
	{name: "odd-workers", rule: "contenders", local: newCountsOut(func(n int) bool { return n%2 == 1 })},
	{name: "64-workers", rule: "contenders", local: newCountsOut(func(n int) bool { return n == 64 })},

	{name: "wakes-none", rule: "wake-up", stuck: true, local: newQueue(queueFaults{patient: 100 * time.Microsecond, loseEvery: 1})},
	{name: "loses-one-of-100", rule: "wake-up", stuck: true, local: newQueue(queueFaults{patient: 10 * time.Microsecond, loseEvery: 100})},
	{name: "loses-one-of-1000", rule: "wake-up", stuck: true, local: newQueue(queueFaults{loseEvery: 1000})},
	{name: "forgets-after-10-ms", rule: "wake-up", stuck: true, local: newQueue(queueFaults{forgetAfter: 10 * time.Millisecond})},

	{name: "ticket-of-16-bits", rule: "endurance", stuck: true, local: newTicket(ticketFaults{bits: 16})},
	{name: "ticket-of-8-bits", rule: "endurance", stuck: true, local: newTicket(ticketFaults{bits: 8})},
	{name: "wraps-behind-one", rule: "endurance", local: newTicket(ticketFaults{wrap: 1 << 16, ahead: 1})},
	{name: "wraps-behind-four", rule: "endurance", local: newTicket(ticketFaults{wrap: 1 << 16, ahead: 4})},
	{name: "wraps-at-11-bits-behind-two", rule: "endurance", local: newTicket(ticketFaults{wrap: 1 << 11, ahead: 2})},
	{name: "opens-at-2-to-the-16", rule: "endurance", local: newFlag(flagFaults{opensAt: 1 << 16})},
	{name: "walks-in-once-in-10000", rule: "endurance", local: newFlag(flagFaults{enterEvery: 10_000})},
	{name: "waits-of-15-bits", rule: "endurance", stuck: true, local: newQueue(queueFaults{loseAt: 1 << 15})},
	{name: "one-permit-more-after-1000", rule: "endurance", traits: harness.Traits{Permits: 3}, local: shareLock(func(*quitter) sync.Locker { return &growing{permits: newPermits(4)} })},

	{name: "takes-one-of-10000", rule: "try", local: newFlag(flagFaults{takeEvery: 10_000})},
	{name: "refuses-one-of-10000", rule: "try", local: newFlag(flagFaults{refuseEvery: 10_000})},
	{name: "tries-add-up", rule: "try", local: newFlag(flagFaults{freesAt: 1 << 16})},
	{name: "one-for-all", rule: "reuse", stuck: true, local: newOneForAll()},

	{name: "last-beyond-8", rule: "fifo", traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{lastBeyond: 8})},
	{name: "last-beyond-64", rule: "fifo", traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{lastBeyond: 64})},
	{name: "barges-once-in-1024", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{bargeEvery: 1024})},
	{name: "swaps-once-in-1024", rule: "fifo", chance: true, traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{swapEvery: 1024})},
	{name: "starves-the-first", rule: "starvation", traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{starves: 1})},
	{name: "starves-the-tenth", rule: "starvation", traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{starves: 10})},
	{name: "starves-the-40th", rule: "fifo", traits: harness.Traits{FIFO: true}, local: newQueue(queueFaults{starves: 40})},
}

func newCountsOut(fails func(workers int) bool) func(*quitter, int) harness.Local {
	return func(q *quitter, n int) harness.Local {
		if fails(n) {
			return newNoop(q, n)
		}
		return newMutex(q, n)
	}
}

// queueFaults are mistakes of a lock that hands over to the head of a queue.
type queueFaults struct {
	places      int           // waiters beyond this number are forgotten
	lastBeyond  int           // the last is served first while more than this many wait
	bargeEvery  int           // one arrival in this many goes to the head of the queue
	swapEvery   int           // one handover in this many is to the second in the queue
	starves     int           // this worker, counted from 1, is served when no other waits
	loseEvery   int           // one wake-up in this many is lost
	loseAt      int           // this wake-up is lost
	patient     time.Duration // how long a waiter polls before it sleeps
	forgetAfter time.Duration // a waiter that has slept this long is not woken
}

type queueLock struct {
	queueFaults
	q *quitter

	mu              sync.Mutex // guards the rest
	held            bool
	queue           []*place
	arrivals, woken int
	handOvers       int
}

type place struct {
	worker  int
	granted atomic.Bool
	sleeps  time.Time // start of sleep; guarded by the lock's mu
	wake    chan struct{}
}

type queueHandle struct {
	lock   *queueLock
	worker int
}

func newQueue(f queueFaults) func(*quitter, int) harness.Local {
	return func(q *quitter, n int) harness.Local {
		l := &queueLock{queueFaults: f, q: q}
		p := make(perWorker, n)
		for i := range p {
			p[i] = &queueHandle{l, i + 1}
		}
		return p
	}
}

func (h *queueHandle) Lock() {
	l := h.lock
	l.mu.Lock()
	if !l.held {
		l.held = true
		l.mu.Unlock()
		return
	}
	w := &place{worker: h.worker, wake: make(chan struct{})}
	l.arrivals++
	switch {
	case l.places > 0 && len(l.queue) >= l.places:
	case l.bargeEvery > 0 && l.arrivals%l.bargeEvery == 0:
		l.queue = slices.Insert(l.queue, 0, w)
	default:
		l.queue = append(l.queue, w)
	}
	l.mu.Unlock()
	l.await(w)
}

func (l *queueLock) await(w *place) {
	for start := time.Now(); time.Since(start) < l.patient; l.q.wait() {
		if w.granted.Load() {
			return
		}
	}
	l.mu.Lock()
	granted := w.granted.Load()
	w.sleeps = time.Now()
	l.mu.Unlock()
	if !granted {
		l.q.sleep(w.wake)
	}
}

func (h *queueHandle) TryLock() bool {
	l := h.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.held {
		return false
	}
	l.held = true
	return true
}

func (h *queueHandle) Unlock() {
	l := h.lock
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.queue) == 0 {
		l.held = false
		return
	}
	l.handOvers++
	k := l.next()
	w := l.queue[k]
	l.queue = slices.Delete(l.queue, k, k+1)
	w.granted.Store(true)
	if w.sleeps.IsZero() {
		return // it sees the grant
	}
	l.woken++
	lost := l.loseEvery > 0 && l.woken%l.loseEvery == 0 || l.loseAt > 0 && l.woken == l.loseAt ||
		l.forgetAfter > 0 && time.Since(w.sleeps) > l.forgetAfter
	if !lost {
		close(w.wake)
	}
}

func (l *queueLock) next() int {
	switch {
	case l.lastBeyond > 0 && len(l.queue) > l.lastBeyond:
		return len(l.queue) - 1
	case l.swapEvery > 0 && l.handOvers%l.swapEvery == 0:
		return min(1, len(l.queue)-1)
	case l.starves > 0:
		return max(0, slices.IndexFunc(l.queue, func(w *place) bool { return w.worker != l.starves }))
	}
	return 0
}

func (q *quitter) sleep(c <-chan struct{}) {
	for {
		select {
		case <-c:
			return
		case <-time.After(20 * time.Millisecond):
			q.check()
		}
	}
}

// slots is a lock whose waiters poll n flags in turn: more waiters share flags.
type slots struct {
	q    *quitter
	n    uint32
	next atomic.Uint32
	mine uint32 // of the holder
	flag [256]atomic.Bool
	once sync.Once
}

func (l *slots) Lock() {
	l.once.Do(func() { l.flag[0].Store(true) })
	k := l.next.Add(1) - 1
	for !l.flag[k%l.n].Load() {
		l.q.wait()
	}
	l.mine = k
}

func (l *slots) Unlock() {
	l.flag[l.mine%l.n].Store(false)
	l.flag[(l.mine+1)%l.n].Store(true)
}

// growing gains a permit after a thousand releases, one too many, which it kept for itself.
type growing struct {
	permits
	releases atomic.Int32
	first    sync.Once
}

func (l *growing) Lock() {
	l.first.Do(l.permits.Lock)
	l.permits.Lock()
}

func (l *growing) TryLock() bool {
	l.first.Do(l.permits.Lock)
	return l.permits.TryLock()
}

func (l *growing) Unlock() {
	if l.permits.Unlock(); l.releases.Add(1) == 1000 {
		l.permits.Unlock()
	}
}

func newOneForAll() func(q *quitter, workers int) harness.Local {
	var locks sync.Map
	return func(q *quitter, _ int) harness.Local {
		l, _ := locks.LoadOrStore(q, harness.Shared(&brokenTAS{q: q}))
		return l.(harness.Local)
	}
}

//go:build systematic

package explore_test

import (
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// Bugs of locks whose waiters sleep.
const (
	plainRelease  bug = "frees the lock by a plain store and then checks for sleepers"
	plainAnnounce bug = "announces its sleep by a plain store and then loads the lock"
	sleepsBlindly bug = "sleeps without another load of the lock"
	wakesEarly    bug = "wakes before it frees the lock"
	trustsPermit  bug = "takes a wake-up for the lock"
	wakesNone     bug = "wakes none if the lock was not contended when it loaded it first"
)

// parking is a test-and-set lock whose waiters announce themselves and poll before they sleep.
type parking struct {
	bug      bug
	spins    int // polls before the sleep
	held     atomics.Uint32
	sleeping []atomics.Uint32
	parkers  []*atomics.Parker
}

func newParking(n int, b bug) harness.Local { return newSpinThenPark(n, b, 0) }

func newSpinning(n int, b bug) harness.Local { return newSpinThenPark(n, b, 5) }

func newSpinThenPark(n int, b bug, spins int) harness.Local {
	l := newParkers(n)
	l.bug, l.spins = b, spins
	return perWorker(func(i int) sync.Locker {
		return funcs{lock: func() { l.lock(i) }, unlock: func() { l.unlock(i) }}
	})
}

func newParkers(n int) *parking {
	l := &parking{sleeping: make([]atomics.Uint32, n)}
	for range n {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return l
}

func (l *parking) lock(i int) {
	for range l.spins {
		if l.held.CompareAndSwap(0, 1) {
			return
		}
		atomics.SpinHint(1)
	}
	for !l.held.CompareAndSwap(0, 1) {
		if l.bug == plainAnnounce {
			l.sleeping[i].StoreRelease(1)
		} else {
			l.sleeping[i].Store(1)
		}
		if l.bug == sleepsBlindly || l.held.Load() != 0 {
			l.parkers[i].Park()
			if l.bug == trustsPermit {
				l.sleeping[i].Store(0)
				return
			}
		}
		l.sleeping[i].Store(0)
	}
}

func (l *parking) unlock(i int) {
	switch l.bug {
	case wakesEarly:
		l.wake(i)
		l.held.Store(0)
	case plainRelease:
		l.held.StoreRelease(0)
		l.wake(i)
	default:
		l.held.Store(0)
		l.wake(i)
	}
}

func (l *parking) wake(i int) {
	for j := range l.sleeping {
		if j != i && l.sleeping[j].Load() != 0 {
			l.parkers[j].Unpark()
		}
	}
}

// futex is the second mutex of Ulrich Drepper, "Futexes Are Tricky": 0 is free, 1 held, 2 held
// and perhaps a waiter sleeps. All sleep in one place, here a parker each.
type futex struct {
	*parking
	state atomics.Uint32
}

func newFutex(n int, b bug) harness.Local {
	l := &futex{parking: newParkers(n)}
	return perWorker(func(i int) sync.Locker {
		return funcs{
			lock: func() {
				if l.state.CompareAndSwap(0, 1) {
					return
				}
				for l.state.Swap(2) != 0 {
					l.sleep(i)
				}
			},
			unlock: func() {
				if b == wakesNone {
					contended := l.state.Load() == 2
					l.state.Store(0)
					if contended {
						l.wake(i)
					}
					return
				}
				if l.state.Swap(0) == 2 {
					l.wake(i)
				}
			},
		}
	})
}

// sleep is FUTEX_WAIT for 2.
func (l *futex) sleep(i int) {
	l.sleeping[i].Store(1)
	if l.state.Load() == 2 {
		l.parkers[i].Park()
	}
	l.sleeping[i].Store(0)
}

// Bugs of locks whose readers share, or do not lock at all.
const (
	readerBlind bug = "lets a reader in that did not check for a writer again"
	evenAlways  bug = "does not say that a write is under way"
	noRetry     bug = "does not let a reader read again"
)

// rw counts readers; its writer comes first, and waits until they are gone.
type rw struct {
	bug             bug
	writer, readers atomics.Uint32
}

func newRW(_ int, b bug) harness.Local { return harness.Shared(&rw{bug: b}) }

func (l *rw) Lock() {
	for !l.writer.CompareAndSwap(0, 1) {
		atomics.SpinHint(1)
	}
	for l.readers.Load() != 0 {
		atomics.SpinHint(1)
	}
}

func (l *rw) Unlock() { l.writer.StoreRelease(0) }

func (l *rw) RLock() {
	for {
		for l.writer.Load() != 0 {
			atomics.SpinHint(1)
		}
		l.readers.Add(1)
		if l.bug == readerBlind || l.writer.Load() == 0 {
			return
		}
		l.readers.Add(^uint32(0))
	}
}

func (l *rw) RUnlock() { l.readers.Add(^uint32(0)) }

// Bugs of a bypass for readers.
const (
	plainEntry bug = "says by a plain store that it reads, and then checks whether it may"
	plainShut  bug = "shuts the bypass by a plain store, and then checks which readers are on it"
)

// bypass is a readers-writer lock whose readers bypass it while it is open: the
// principle of BRAVO.
type bypass struct {
	bug    bug
	under  rw
	open   atomics.Uint32
	inside []atomics.Uint32 // by worker: it is on the bypass
}

type bypassReader struct {
	*bypass
	inside *atomics.Uint32
}

func newBypass(n int, b bug) harness.Local {
	l := &bypass{bug: b, inside: make([]atomics.Uint32, n)}
	return perWorker(func(i int) sync.Locker { return bypassReader{l, &l.inside[i]} })
}

func (r bypassReader) RLock() {
	if r.open.Load() != 0 {
		if r.bug == plainEntry {
			r.inside.StoreRelease(1)
		} else {
			r.inside.Store(1)
		}
		if r.open.Load() != 0 {
			return
		}
		r.inside.StoreRelease(0)
	}
	r.under.RLock()
	r.open.Store(1)
}

func (r bypassReader) RUnlock() {
	if r.inside.Load() != 0 {
		r.inside.StoreRelease(0)
		return
	}
	r.under.RUnlock()
}

func (r bypassReader) Lock() {
	r.under.Lock()
	if r.bug == plainShut {
		r.open.StoreRelease(0)
	} else {
		r.open.Store(0)
	}
	for i := range r.bypass.inside {
		for r.bypass.inside[i].Load() != 0 {
			atomics.SpinHint(1)
		}
	}
}

func (r bypassReader) Unlock() { r.under.Unlock() }

// seq is a sequence lock: its version is odd during a write.
type seq struct {
	ttas
	version atomics.Uint64
}

func newSeq(_ int, b bug) harness.Local {
	l := &seq{}
	l.bug = b
	return harness.Shared(l)
}

func (l *seq) Lock() {
	l.ttas.Lock()
	if l.bug != evenAlways {
		l.version.StoreRelease(l.version.Load() + 1)
	}
}

func (l *seq) Unlock() {
	if l.bug != evenAlways {
		l.version.StoreRelease(l.version.Load() + 1)
	}
	l.ttas.Unlock()
}

func (l *seq) ReadBegin() uint64 {
	for {
		if v := l.version.Load(); v%2 == 0 {
			return v
		}
		atomics.SpinHint(1)
	}
}

func (l *seq) ReadRetry(version uint64) bool {
	return l.bug != noRetry && l.version.Load() != version
}

// Bugs of a lock that lets two in.
const oneTooMany bug = "lets one more in than it has permits"

type permits struct{ left atomics.Uint32 }

func newPermits(_ int, b bug) harness.Local {
	l := &permits{}
	l.left.Store(2)
	if b == oneTooMany {
		l.left.Store(3)
	}
	return harness.Shared(l)
}

func (l *permits) Lock() {
	for {
		if n := l.left.Load(); n > 0 && l.left.CompareAndSwap(n, n-1) {
			return
		}
		atomics.SpinHint(1)
	}
}

func (l *permits) Unlock() { l.left.Add(1) }

// A bug of a CLH lock whose waiters sleep until a word of the predecessor's node changes. A waiter
// that sleeps after the node was left is no bug: at worst it wakes another.
const offerStays bug = "reads its offer at the release, and leaves it open"

// Values of a park word; what is more stands for the worker that sleeps.
const (
	parkOffered = 1
	parkSleeper = 2
)

// parkWords is CLH with waiters that sleep: a worker that has to wait itself offers its
// successor the park word of its node, which it leaves to that by its release.
type parkWords struct {
	bug     bug
	busy    []atomics.Uint32 // by node
	park    []atomics.Uint32
	parkers []*atomics.Parker // by worker
	tail    atomics.Uint32
}

func newParkWords(n int, b bug) harness.Local {
	l := &parkWords{bug: b, busy: make([]atomics.Uint32, n+1), park: make([]atomics.Uint32, n+1)}
	for range n {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return perWorker(func(me int) sync.Locker {
		node, pred, offered := uint32(me)+1, uint32(0), false
		return funcs{
			lock: func() { pred, offered = l.lock(me, node) },
			unlock: func() {
				l.unlock(node, offered)
				node = pred
			},
		}
	})
}

// lock takes the lock by node, and returns the node ahead and whether its park word is offered.
func (l *parkWords) lock(me int, node uint32) (pred uint32, offered bool) {
	l.busy[node].StoreRelease(1)
	pred = l.tail.Swap(node)
	if l.busy[pred].Load() == 0 {
		return pred, false
	}
	l.park[node].Store(parkOffered)
	for l.busy[pred].Load() != 0 {
		if l.park[pred].CompareAndSwap(parkOffered, parkSleeper+uint32(me)) {
			l.parkers[me].Park()
		} else {
			atomics.SpinHint(1)
		}
	}
	return pred, true
}

func (l *parkWords) unlock(node uint32, offered bool) {
	var sleeper uint32
	switch {
	case !offered:
	case l.bug == offerStays:
		sleeper = l.park[node].Load()
	default:
		sleeper = l.park[node].Swap(0)
	}
	l.busy[node].StoreRelease(0)
	if sleeper >= parkSleeper {
		l.parkers[sleeper-parkSleeper].Unpark()
	}
}

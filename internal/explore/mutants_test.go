//go:build systematic

package explore_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/explore"
)

// A mutant is a lock with a bug, and the program that finds it. Without the bug it must pass.
type mutant struct {
	lock           string
	make           func(workers int, b bug) harness.Local
	bug            bug
	workers, times int
	want           error
	traits         harness.Traits
	// buffered means that the bug is harmless if stores are visible immediately.
	buffered bool
}

var mutants = []mutant{
	{lock: "tas", make: newTAS, bug: loadThenStore, workers: 2, times: 1, want: explore.ErrExclusion},
	{lock: "tas", make: newTAS, bug: freesTwice, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "tas", make: newTAS, bug: freesNever, workers: 2, times: 1, want: explore.ErrLivelock},
	{lock: "tas", make: newTAS, bug: opensTwice, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "ttas", make: newTTAS, bug: noRecheck, workers: 3, times: 1, want: explore.ErrExclusion},

	{lock: "ticket", make: newTicket, bug: sameTicket, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "ticket", make: newTicket, bug: earlyServe, workers: 2, times: 1, want: explore.ErrExclusion},
	{lock: "ticket", make: newTicket, bug: skipsNumber, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "ticket", make: newTicket, bug: drawsAgain, workers: 2, times: 1, want: explore.ErrLivelock},
	{lock: "ticket", make: newTicket, bug: anyOrder, workers: 3, times: 1, want: explore.ErrOrder, traits: harness.Traits{FIFO: true}},

	{lock: "peterson", make: newPeterson, bug: noFence, workers: 2, times: 1, want: explore.ErrExclusion, buffered: true},
	{lock: "peterson", make: newPeterson, bug: turnFirst, workers: 2, times: 1, want: explore.ErrExclusion},
	{lock: "bakery", make: newBakery, bug: noChoosing, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{FIFO: true}},
	{lock: "bakery", make: newBakery, bug: noFence, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{FIFO: true}, buffered: true},

	{lock: "mcs", make: newMCS, bug: tailByStore, workers: 2, times: 1, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},
	{lock: "mcs", make: newMCS, bug: armsLate, workers: 2, times: 1, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},
	{lock: "mcs", make: newMCS, bug: lostSuccessor, workers: 2, times: 1, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},
	{lock: "mcs", make: newMCS, bug: staleLink, workers: 2, times: 2, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},
	{lock: "clh", make: newCLH, bug: ownNodeAgain, workers: 2, times: 2, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},
	{lock: "clh", make: newCLH, bug: busyLate, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{FIFO: true}},

	{lock: "parking", make: newParking, bug: plainRelease, workers: 2, times: 1, want: explore.ErrDeadlock, buffered: true},
	{lock: "parking", make: newParking, bug: plainAnnounce, workers: 2, times: 1, want: explore.ErrDeadlock, buffered: true},
	{lock: "parking", make: newParking, bug: sleepsBlindly, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "parking", make: newParking, bug: wakesEarly, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "parking", make: newParking, bug: trustsPermit, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "spin-then-park", make: func(n int, b bug) harness.Local { return newSpinThenPark(n, b, 5) }, bug: sleepsBlindly, workers: 2, times: 1, want: explore.ErrDeadlock},

	{lock: "rw", make: newRW, bug: writerBlind, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{ReadWrite: true}},
	{lock: "rw", make: newRW, bug: readerBlind, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{ReadWrite: true}},
	{lock: "seq", make: newSeq, bug: evenAlways, workers: 2, times: 1, want: explore.ErrRead, traits: harness.Traits{ReadWrite: true}},
	{lock: "seq", make: newSeq, bug: noRetry, workers: 2, times: 1, want: explore.ErrRead, traits: harness.Traits{ReadWrite: true}},
	{lock: "permits", make: newPermits, bug: oneTooMany, workers: 3, times: 1, want: explore.ErrExclusion, traits: harness.Traits{Permits: 2}},
}

var limits = explore.Limits{Preemptions: 3, Reorderings: 2}

func (m mutant) program(b bug) func() explore.Program {
	v := &harness.Variant{Traits: m.traits, Local: func(s harness.Setup) harness.Local { return m.make(s.Workers, b) }}
	return explore.Lock(v, explore.Use{Acquisitions: slices.Repeat([]int{m.times}, m.workers)})
}

// TestMutants checks that each bug is found in the simplest schedule, that only
// the store buffer exposes a missing fence, and that the lock without the bug passes.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.lock+": "+string(m.bug), func(t *testing.T) {
			r := explore.Explore(m.program(m.bug), limits)
			f := r.Failure
			if f == nil {
				t.Fatalf("survives: %d schedules", r.Schedules)
			}
			t.Logf("%d preemptions, %d reorderings, %d schedules: %v", f.Preemptions, f.Reorderings, r.Schedules, f.Err)
			if !errors.Is(f, m.want) {
				t.Errorf("want %v, got %v", m.want, f)
			}
			m.requireFewest(t, f)
			r = explore.Explore(m.program(m.bug), explore.Limits{Preemptions: limits.Preemptions})
			if passes := r.Failure == nil; passes != m.buffered {
				t.Errorf("without store buffers it passes: %t, want %t: %v", passes, m.buffered, r.Failure)
			}
			r = explore.Explore(m.program(""), limits)
			if r.Failure != nil {
				t.Errorf("without the bug: %v", r.Failure)
			}
			t.Logf("without the bug: %d schedules, %d states", r.Schedules, r.States)
		})
	}
}

// requireFewest checks that no schedule with fewer preemptions or reorderings than f fails.
func (m mutant) requireFewest(t *testing.T, f *explore.Failure) {
	t.Helper()
	for _, less := range []explore.Limits{
		{Preemptions: f.Preemptions - 1, Reorderings: f.Reorderings},
		{Preemptions: f.Preemptions, Reorderings: f.Reorderings - 1},
	} {
		if less.Preemptions < 0 || less.Reorderings < 0 {
			continue
		}
		if r := explore.Explore(m.program(m.bug), less); r.Failure != nil {
			t.Errorf("%d preemptions and %d reorderings are enough: %v", less.Preemptions, less.Reorderings, r.Failure)
		}
	}
}

// Bugs of locks whose waiters sleep.
const (
	plainRelease  bug = "frees the lock by a plain store and then checks for sleepers"
	plainAnnounce bug = "announces its sleep by a plain store and then loads the lock"
	sleepsBlindly bug = "sleeps without another load of the lock"
	wakesEarly    bug = "wakes before it frees the lock"
	trustsPermit  bug = "takes a wake-up for the lock"
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

func newSpinThenPark(n int, b bug, spins int) harness.Local {
	l := &parking{bug: b, spins: spins, sleeping: make([]atomics.Uint32, n)}
	for range n {
		l.parkers = append(l.parkers, atomics.NewParker())
	}
	return perWorker(func(i int) sync.Locker {
		return funcs{lock: func() { l.lock(i) }, unlock: func() { l.unlock(i) }}
	})
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

// Bugs of locks whose readers share, or do not lock at all.
const (
	readerBlind bug = "lets a reader in that did not check for a writer again"
	writerBlind bug = "lets a writer in that did not wait for the readers"
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
	for l.bug != writerBlind && l.readers.Load() != 0 {
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

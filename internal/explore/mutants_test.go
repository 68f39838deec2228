//go:build systematic

package explore_test

import (
	"errors"
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/explore"
)

// A mutant is a lock with a bug, and the program that finds it. Without the bug it must pass.
type mutant struct {
	lock    string
	make    func(workers int, b bug) harness.Local
	bug     bug
	workers int
	times   int
	want    error
	traits  harness.Traits
	// buffered means that the bug is harmless if stores are visible immediately.
	buffered bool
}

var mutants = []mutant{
	{lock: "tas", make: newTAS, bug: loadThenStore, workers: 2, times: 1, want: explore.ErrExclusion},
	{lock: "tas", make: newTAS, bug: freesTwice, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "tas", make: newTAS, bug: freesNever, workers: 2, times: 1, want: explore.ErrLivelock},
	{lock: "ttas", make: newTTAS, bug: noRecheck, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "reentrant", make: newReentrant, bug: innerFrees, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{Reentrant: true}},

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
	{lock: "fissile", make: newFissile, bug: waitsForTwo, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "fissile", make: newFissile, bug: blindTake, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "fissile", make: newFissile, bug: handsOverLate, workers: 2, times: 2, want: explore.ErrExclusion},
	{lock: "fissile", make: newFissile, bug: staysCross, workers: 3, times: 1, want: explore.ErrDeadlock},

	{lock: "clh with park words", make: newParkWords, bug: offerStays, workers: 3, times: 1, want: explore.ErrDeadlock, traits: harness.Traits{FIFO: true}},

	{lock: "parking", make: newParking, bug: plainRelease, workers: 2, times: 1, want: explore.ErrDeadlock, buffered: true},
	{lock: "parking", make: newParking, bug: plainAnnounce, workers: 2, times: 1, want: explore.ErrDeadlock, buffered: true},
	{lock: "parking", make: newParking, bug: sleepsBlindly, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "parking", make: newParking, bug: wakesEarly, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "parking", make: newParking, bug: trustsPermit, workers: 3, times: 1, want: explore.ErrExclusion},
	{lock: "spin-then-park", make: newSpinning, bug: sleepsBlindly, workers: 2, times: 1, want: explore.ErrDeadlock},
	{lock: "futex", make: newFutex, bug: wakesNone, workers: 2, times: 1, want: explore.ErrDeadlock},

	{lock: "rw", make: newRW, bug: readerBlind, workers: 2, times: 1, want: explore.ErrExclusion, traits: harness.Traits{ReadWrite: true}},
	{lock: "bypass", make: newBypass, bug: plainEntry, workers: 2, times: 2, want: explore.ErrExclusion, traits: harness.Traits{ReadWrite: true}, buffered: true},
	{lock: "bypass", make: newBypass, bug: plainShut, workers: 2, times: 2, want: explore.ErrExclusion, traits: harness.Traits{ReadWrite: true}, buffered: true},
	{lock: "seq", make: newSeq, bug: evenAlways, workers: 2, times: 1, want: explore.ErrRead, traits: harness.Traits{ReadWrite: true}},
	{lock: "seq", make: newSeq, bug: noRetry, workers: 2, times: 1, want: explore.ErrRead, traits: harness.Traits{ReadWrite: true}},
	{lock: "permits", make: newPermits, bug: oneTooMany, workers: 3, times: 1, want: explore.ErrExclusion, traits: harness.Traits{Permits: 2}},
}

var limits = explore.Limits{Preemptions: 3, Reorderings: 2}

func (m mutant) program(b bug) func() explore.Program {
	v := &harness.Variant{Traits: m.traits, Local: func(s harness.Setup) harness.Local { return m.make(s.Workers, b) }}
	return explore.Lock(v, explore.Use{Acquisitions: slices.Repeat([]int{m.times}, m.workers)})
}

// TestMutants checks that each bug is found in the simplest schedule and can be replayed, that only
// the store buffer exposes a missing fence, and that the lock without the bug passes.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.lock+": "+string(m.bug), func(t *testing.T) {
			r := explore.Explore(m.program(m.bug), limits)
			f := r.Failure
			if f == nil {
				t.Fatalf("survives: %d schedules, complete %t", r.Schedules, r.Complete)
			}
			t.Logf("%d preemptions, %d reorderings, %d schedules: %v", f.Preemptions, f.Reorderings, r.Schedules, f.Err)
			if !errors.Is(f, m.want) {
				t.Errorf("want %v, got %v", m.want, f)
			}
			again, err := explore.Replay(m.program(m.bug), limits, f.Decisions)
			if err != nil || again.Failure == nil || again.Failure.Error() != f.Error() {
				t.Errorf("replay gives %v, %v, want the same as before, %v", err, again.Failure, f)
			}
			m.requireFewest(t, f)
			r = explore.Explore(m.program(m.bug), explore.Limits{Preemptions: limits.Preemptions})
			if passes := r.Failure == nil; passes != m.buffered {
				t.Errorf("without store buffers it passes: %t, want %t: %v", passes, m.buffered, r.Failure)
			}
			r = explore.Explore(m.program(""), limits)
			if r.Failure != nil || !r.Complete {
				t.Errorf("without the bug: complete %t, %v", r.Complete, r.Failure)
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

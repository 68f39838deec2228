//go:build systematic

package explore

import (
	"fmt"
	"maps"
	"slices"
	"testing"

	"locklab/atomics"
)

// A pattern is a lock with its own way to wait, for two workers.
type pattern struct {
	name         string
	acquisitions int
	lock, unlock func(i int)
}

func patterns() []pattern {
	var held, next, serving, waiting atomics.Uint32
	parkers := []*atomics.Parker{atomics.NewParker(), atomics.NewParker()}
	return []pattern{
		{"spins", 2, func(int) {
			for held.Swap(1) == 1 {
				for held.Load() == 1 {
					atomics.SpinHint(1)
				}
			}
		}, func(int) { held.StoreRelease(0) }},
		{"in order", 2, func(int) {
			for mine := next.Add(1) - 1; serving.Load() != mine; {
				atomics.SpinHint(1)
			}
		}, func(int) { serving.StoreRelease(serving.Load() + 1) }},
		{"sleeps", 2, func(i int) {
			for !held.CompareAndSwap(0, 1) {
				waiting.Store(1)
				if held.Load() == 1 {
					parkers[i].Park()
				}
			}
		}, func(i int) {
			held.Store(0)
			if waiting.Swap(0) == 1 {
				parkers[1-i].Unpark()
			}
		}},
		{"is no lock", 1, func(int) { held.StoreRelease(1) }, func(int) { held.StoreRelease(0) }},
	}
}

// TestKnownStatesLoseNothing compares all outcomes of a program with and without known states.
func TestKnownStatesLoseNothing(t *testing.T) {
	for i, p := range patterns() {
		outcomes := func(forget bool) (found []string, r Report) {
			set := make(map[string]bool)
			e := newExplorer(func() Program {
				lock := patterns()[i]
				var log [2]string
				var data atomics.Uint32
				program := Program{Final: func() error {
					set[fmt.Sprint(log)] = true
					return nil
				}}
				for i := range 2 {
					program.Workers = append(program.Workers, func(*Worker) {
						for range lock.acquisitions {
							lock.lock(i)
							n := data.Load()
							log[i] += fmt.Sprintf("%d ", n)
							data.StoreRelease(n + 1)
							lock.unlock(i)
						}
					})
				}
				return program
			}, Limits{Preemptions: 2, Reorderings: 1})
			if !forget {
				e.seen = make(map[uint64]budget)
			}
			r = e.explore()
			return slices.Sorted(maps.Keys(set)), r
		}
		known, r := outcomes(false)
		all, full := outcomes(true)
		t.Logf("%s: %d schedules instead of %d, %d outcomes", p.name, r.Schedules, full.Schedules, len(all))
		if !slices.Equal(known, all) {
			t.Errorf("%s: with known states\n%q\nwithout\n%q", p.name, known, all)
		}
		if r.Schedules >= full.Schedules {
			t.Errorf("%s: known states save nothing: %d schedules, %d without", p.name, r.Schedules, full.Schedules)
		}
	}
}

// TestStateTellsApart changes one thing at a time in a run.
func TestStateTellsApart(t *testing.T) {
	fresh := func() *run {
		r := newRun(&explorer{}, nil)
		r.workers = []*Worker{{id: 0}, {id: 1}}
		r.fair.init(2)
		return r
	}
	seen := map[uint64]string{fresh().state(): "nothing"}
	for name, change := range map[string]func(*run){
		"a history":                func(r *run) { r.workers[0].happens(1) },
		"the other history":        func(r *run) { r.workers[1].happens(1) },
		"a word":                   func(r *run) { r.memory.sum++ },
		"which runs":               func(r *run) { r.current = 1 },
		"a buffer":                 func(r *run) { r.workers[0].buffer = make([]entry, 1) },
		"a late buffer":            func(r *run) { r.workers[0].buffer, r.workers[0].late = make([]entry, 1), true },
		"an end":                   func(r *run) { r.workers[0].done = true },
		"a wait":                   func(r *run) { r.workers[0].waits = true },
		"a write during it":        func(r *run) { r.workers[0].waits, r.workers[0].stirred = true, true },
		"a wait in vain":           func(r *run) { r.workers[0].waits, r.workers[0].stuck = true, true },
		"which must go first":      func(r *run) { r.fair.before[0] = 2 },
		"which was always able":    func(r *run) { r.fair.ran[0], r.fair.always[0] = 1, 2 },
		"which was stopped":        func(r *run) { r.fair.ran[0], r.fair.stopped[0] = 1, 2 },
		"which ran":                func(r *run) { r.fair.ran[0] = 1 },
		"which is inside":          func(r *run) { r.section.inside = 1 },
		"which is inside, reading": func(r *run) { r.section.readers = 1 },
		"which asks":               func(r *run) { r.section.asking = 1 },
		"which has asked":          func(r *run) { r.section.asked = 1 },
		"which waits":              func(r *run) { r.section.waits = 1 },
		"which waited before":      func(r *run) { r.section.fifo, r.section.ahead[1] = true, 1 },
	} {
		r := fresh()
		change(r)
		if other, ok := seen[r.state()]; ok {
			t.Errorf("the state after a change of %s is that after a change of %s", name, other)
		}
		seen[r.state()] = name
	}
}

// TestFewSchedules checks that nothing is explored twice without need.
func TestFewSchedules(t *testing.T) {
	var held, users atomics.Uint32
	for name, test := range map[string]struct {
		lock, unlock func()
		want         int
	}{
		"compare and swap": {func() {
			for !held.CompareAndSwap(0, 1) {
				atomics.SpinHint(1)
			}
		}, func() { held.StoreRelease(0) }, 79},
		"swap": {func() {
			for held.Swap(1) == 1 {
				atomics.SpinHint(1)
			}
		}, func() { held.StoreRelease(0) }, 79},
		"store and load": {func() {
			users.StoreRelease(1)
			users.StoreRelease(2)
			for held.Load() == 1 || !held.CompareAndSwap(0, 1) {
				atomics.SpinHint(1)
			}
		}, func() { held.StoreRelease(0) }, 5946},
		"add": {func() {
			for users.Add(1) != 1 {
				users.Add(^uint32(0))
				atomics.SpinHint(1)
			}
		}, func() { users.Add(^uint32(0)) }, 2196},
	} {
		r := Explore(func() Program {
			held.Store(0)
			users.Store(0)
			use := func(w *Worker) {
				test.lock()
				w.Enter()
				w.Leave()
				test.unlock()
			}
			return Program{Workers: []func(*Worker){use, use, use}}
		}, Limits{Preemptions: 2, Reorderings: 1})
		if r.Schedules != test.want || r.Failure != nil {
			t.Errorf("%s: %d schedules, want %d: %v", name, r.Schedules, test.want, r.Failure)
		}
	}
}

// TestMet checks that a state is known only if no more was spent to reach it.
func TestMet(t *testing.T) {
	e := &explorer{seen: make(map[uint64]budget)}
	for _, step := range []struct {
		state                    uint64
		preemptions, reorderings int
		want                     bool
	}{
		{1, 2, 0, false},
		{1, 2, 0, true},
		{1, 3, 0, true},
		{1, 2, 1, true},
		{1, 1, 1, false}, // one preemption less, though a reordering more
		{1, 1, 1, true},
		{1, 1, 2, true},
		{1, 1, 0, false},
		{2, 1, 0, false},
		{1, 0, maxReorderings, false},
		{1, 0, maxReorderings, true},
	} {
		if got := e.met(step.state, step.preemptions, step.reorderings); got != step.want {
			t.Errorf("%+v: got %t", step, got)
		}
	}
}

// TestSilentWrite checks that rewriting the same value is no write: no worker could observe it.
func TestSilentWrite(t *testing.T) {
	var word atomics.Uint32
	var m memory
	defer atomics.SetScheduler(func(a atomics.Access) uint64 {
		c := m.at(a.Word)
		if m.write(c, 0, 1) || m.cells[c].version != 0 || m.sum != 0 {
			t.Error("writing 0 over 0 is a write")
		}
		if !m.write(c, 7, 2) || m.cells[c].version != 2 || m.sum == 0 || a.Word.Get() != 7 {
			t.Error("writing 7 over 0 is no write")
		}
		return 0
	})()
	word.Load()
}

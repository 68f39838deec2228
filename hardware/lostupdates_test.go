package hardware

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/result"
	"locklab/internal/leaktest"
	"locklab/internal/machine"
	"locklab/internal/require"
)

func measureCAS(t *testing.T, name string, span time.Duration) []*casCell {
	t.Helper()
	for _, p := range placements() {
		if p.name != name {
			continue
		}
		var cells []*casCell
		for _, b := range casBodies {
			c := &casCell{place: p, body: b}
			requireNoError(t, c.measure(t.Context(), span))
			cells = append(cells, c)
		}
		return cells
	}
	t.Skipf("no two threads on %s: this process may use the CPUs %v", name, machine.CPUOrder())
	return nil
}

func requireSound(t *testing.T, c *casCell) {
	t.Helper()
	if sum := total(c.tallies); c.failed() || sum.updates == 0 || sum.entered == 0 {
		t.Errorf("%s on %s: %+v", c.body.name, c.place.name, sum)
	}
}

// requireFailuresOf measures at place until all bodies that are not safe there have failed: that
// proves that the threads meet. A safe body must never fail.
func requireFailuresOf(t *testing.T, place string, safe func(casBody) bool, failed func(tally) bool) {
	t.Helper()
	measureLonger(t, func(span time.Duration) (unseen string) {
		for _, c := range measureCAS(t, place, span) {
			if safe(c.body) {
				requireSound(t, c)
			} else if !failed(total(c.tallies)) {
				unseen = c.body.name
			}
		}
		return unseen
	})
}

// measureLonger doubles the span until measure names nothing that it did not see to fail.
func measureLonger(t *testing.T, measure func(span time.Duration) (unseen string)) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for span := 20 * time.Millisecond; ; span *= 2 {
		unseen := measure(span)
		if unseen == "" {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s was never seen to fail", unseen)
		}
	}
}

// TestOneInstructionLosesNothingOnOneCPU checks that an interrupt comes between two
// instructions, not into one.
func TestOneInstructionLosesNothingOnOneCPU(t *testing.T) {
	requireFailuresOf(t, "one CPU", func(b casBody) bool { return b.single },
		func(sum tally) bool { return sum.lost > 0 })
}

func TestOnlyAtomicBodiesPassOnTwoCPUs(t *testing.T) {
	requireFailuresOf(t, "two CPUs", func(b casBody) bool { return b.atomic },
		func(sum tally) bool { return sum.lost > 0 && sum.broken() })
}

func TestHeldLockIsGivenUp(t *testing.T) {
	for _, b := range casBodies {
		g := guarded{word: 1}
		entered, violated := b.lock(&g, 1, 10, 100, 0)
		if entered != 0 || violated != 0 || g.counter != 0 || g.word != 1 {
			t.Errorf("%s: entered a held lock %d times, violated %d: %+v", b.name, entered, violated, g)
		}
	}
}

func TestLockAlone(t *testing.T) {
	for _, b := range casBodies {
		var g guarded
		entered, violated := b.lock(&g, 7, 10, 100, 3)
		if entered != 10 || violated != 0 || g.counter != 10 || g.owner != 7 || g.word != 0 {
			t.Errorf("%s: entered %d, violated %d: %+v", b.name, entered, violated, g)
		}
		if won := b.add(&g.counter, 5); won != 5 || g.counter != 15 {
			t.Errorf("%s: won %d of 5, the counter is %d", b.name, won, g.counter)
		}
	}
}

func TestManyThreads(t *testing.T) {
	cpus := []int{unbound, unbound, unbound, unbound, unbound}
	for _, b := range casBodies {
		c := &casCell{place: placement{name: "five threads", cpus: cpus}, body: b}
		requireNoError(t, c.measure(t.Context(), time.Millisecond))
		if b.atomic {
			requireSound(t, c)
		}
	}
}

func TestLostAnswer(t *testing.T) {
	cell := func(b int, lost, stalls uint64) *casCell {
		body := casBody{name: string(rune('A' + b))}
		return &casCell{place: placement{name: "two CPUs"}, body: body,
			tallies: []tally{{updates: 5e5, lost: lost, entered: 1e6, stalls: stalls}, {updates: 5e5, lost: lost}, {updates: 5e5, lost: 9 * lost}}}
	}
	var cells []*casCell
	want := "Yes, both get it, unless the compare-and-swap is atomic. On two CPUs"
	for i := range casBodies {
		switch i {
		case 0:
			cells = append(cells, cell(i, 5, 1))
			want += " A lost 10 updates per million and its lock failed"
		case 1:
			cells = append(cells, cell(i, 0, 0))
			want += ", B lost none of 1.50 M updates and kept its lock exclusive"
		default:
			cells = append(cells, cell(i, 7, 0))
			want += ", C lost 14 updates per million, and its lock was not seen to fail"
		}
	}
	require.Equal(t, "the answer", lostAnswer(cells, nil), want+".")
	for i, c := range cells {
		c.body.atomic = i == 0
	}
	if got := shortAnswer(cells); !strings.Contains(got, "broken") {
		t.Errorf("an atomic body lost updates, and the answer is %q", got)
	}
	if got := shortAnswer(cells[1:2]); !strings.Contains(got, "not seen") {
		t.Errorf("nothing was lost, and the answer is %q", got)
	}
}

func TestBodyTables(t *testing.T) {
	c := &casCell{place: placement{name: "two CPUs"}, body: casBody{name: "A"},
		tallies: []tally{{100, 1, 100, 4, 5, 6}, {100, 3, 100, 4, 5, 6}}}
	tables := bodyTables([]*casCell{c})
	requireTables(t, tables...)
	require.Equal(t, "the first row", tables[0].Rows[0].Label, "A, two CPUs")
	cells := append(tables[0].Rows[0].Cells, tables[1].Rows[0].Cells...)
	got := result.Each(cells, func(c result.Cell) float64 { return c.Median })
	if want := []float64{200, 20_000, 200, 40_000, 50_000, 60_000}; !slices.Equal(got, want) {
		t.Errorf("figures are %v, want %v", got, want)
	}
}

func TestLostPlacements(t *testing.T) {
	pair := []placement{{name: "one CPU", cpus: []int{4, 4}, shared: true}, {name: "two CPUs", cpus: []int{4, 5}}}
	cpus := make([]int, 100)
	for i := range cpus {
		cpus[i] = 4 + i
	}
	for _, test := range []struct {
		two    []placement
		cpus   []int
		last   string
		bodies []int // numbers of threads
		locks  []int
	}{
		{pair[:1], cpus[:1], "one CPU", []int{2}, []int{2, 2}},
		{pair, cpus[:2], "two CPUs", []int{2, 2}, []int{2, 2, 2}},
		{pair, cpus[:6], "all CPUs", []int{2, 2, 6}, []int{2, 2, 6}},
		{pair, cpus, "64 CPUs", []int{2, 2, 64}, []int{2, 2, 64}},
		{[]placement{{name: "not bound", cpus: []int{unbound, unbound}}}, []int{unbound, unbound, unbound}, "all CPUs", []int{2, 3}, []int{2, 3}},
	} {
		places := lostPlacements(test.two, test.cpus)
		threads := func(p placement) int { return len(p.cpus) }
		bodies, locks := result.Each(places, threads), result.Each(lockPlacements(places), threads)
		if last := places[len(places)-1]; last.name != test.last || !slices.Equal(bodies, test.bodies) || !slices.Equal(locks, test.locks) {
			t.Errorf("%d CPUs: bodies run on %v, locks on %v, the last is %s; want %v, %v and %s",
				len(test.cpus), bodies, locks, last.name, test.bodies, test.locks, test.last)
		}
	}
}

func local(name string, status harness.Status, new func() sync.Locker) *harness.Variant {
	return &harness.Variant{Name: name, Status: status, Local: func(harness.Setup) harness.Local { return harness.Shared(new()) }}
}

func newMutex() sync.Locker { return new(sync.Mutex) }

type free struct{}

func (free) Lock()   {}
func (free) Unlock() {}

// TestLockCellsSeeABrokenLock: a lock that lets all in loses increments even on one CPU.
func TestLockCellsSeeABrokenLock(t *testing.T) {
	if locktest.RaceDetector {
		t.Skip("the guarded counter of a broken lock is a data race")
	}
	cells, _ := newLockCells([]*harness.Variant{local("free", "", func() sync.Locker { return free{} })}, lockPlacements(placements()))
	for _, c := range cells {
		measureLonger(t, func(span time.Duration) string {
			requireNoError(t, c.measure(t.Context(), span))
			if seen := total(c.tallies); seen.forgot == 0 || seen.violated == 0 {
				return c.place.name
			}
			return ""
		})
		if got := locksSentence([]*lockCell{c}); !strings.Contains(got, "free ("+c.place.name+") lost") {
			t.Errorf("the answer hides it: %q", got)
		}
	}
	if len(cells) < 2 {
		t.Errorf("only %d places", len(cells))
	}
}

func TestLockCellsAcceptAMutex(t *testing.T) {
	cells, notes := newLockCells([]*harness.Variant{local("mutex", "", newMutex)}, lockPlacements(placements()))
	for _, c := range cells {
		requireNoError(t, c.measure(t.Context(), time.Millisecond))
		if seen := total(c.tallies); seen.broken() || seen.entered == 0 || len(c.ns) != 1 || c.ns[0] <= 0 {
			t.Errorf("on %s: %+v, %v ns", c.place.name, seen, c.ns)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		if err := c.measure(ctx, time.Hour); !errors.Is(err, context.DeadlineExceeded) || len(c.tallies) != 1 {
			t.Errorf("interrupted on %s: error %v, %d tallies", c.place.name, err, len(c.tallies))
		}
		cancel()
	}
	if got := locksSentence(cells); !strings.HasPrefix(got, "No lock of the lab lost") {
		t.Errorf("answer is %q", got)
	}
	if len(notes) != 0 {
		t.Errorf("notes %q", notes)
	}
}

func TestLocksLeftOut(t *testing.T) {
	pair := local("pair", harness.Correct, newMutex)
	pair.Traits.MaxWorkers = 2
	absent := local("absent", harness.Correct, nil)
	absent.Unavailable = "a system call of Linux"
	remote := &harness.Variant{Name: "remote"}
	locks := []*harness.Variant{local("good", harness.Correct, newMutex), local("bad", harness.Broken, newMutex),
		local("empty", harness.Control, newMutex), local("old", harness.Historical, newMutex), remote, absent, pair}
	two := placement{name: "two", cpus: []int{0, 1}}
	three := placement{name: "three", cpus: []int{0, 1, 2}}
	cells, notes := newLockCells(locks, []placement{two, three})
	var ran []string
	for _, c := range cells {
		ran = append(ran, c.lock.Name+" on "+c.place.name)
		c.tallies, c.ns = []tally{{entered: 7}}, []float64{1}
	}
	if want := []string{"good on two", "good on three", "pair on two"}; !slices.Equal(ran, want) {
		t.Errorf("ran %q, want %q", ran, want)
	}
	if got := strings.Join(notes, "; "); got != "bad is left out: it is broken; empty is left out: it is control; old is left out: it is historical; "+
		"remote is left out: it is distributed; absent is left out: a system call of Linux; pair is left out on three: it serves 2 workers, not 3" {
		t.Errorf("notes are %q", got)
	}
	tables := lockTables(cells)
	if len(tables) != 2 || len(tables[0].Rows) != 2 || len(tables[1].Rows) != 1 {
		t.Errorf("tables are %+v", tables)
	}
	requireTables(t, tables...)
}

type door chan struct{}

func (d door) Lock()   { <-d }
func (d door) Unlock() {}

func TestStuckLockIsGivenUp(t *testing.T) {
	leaktest.All(t)
	d := make(door)
	place := placement{name: "one thread", cpus: []int{unbound}}
	s := newCriticalSection(local("stuck", "", func() sync.Locker { return d }), harness.Setup{Workers: 1})
	if err := s.play(t.Context(), place, time.Millisecond, 10*time.Millisecond); !errors.Is(err, errStuck) {
		t.Errorf("error is %v", err)
	}
	close(d) // lets the thread end
}

package hardware

import (
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/internal/machine"
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
			if err := c.measure(t.Context(), span); err != nil {
				t.Fatal(err)
			}
			cells = append(cells, c)
		}
		return cells
	}
	t.Skipf("no two threads on %s: this process may use the CPUs %v", name, machine.CPUOrder())
	return nil
}

func sound(t *testing.T, c *casCell) {
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
				sound(t, c)
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

func TestOnlyAtomicBodiesSurviveTwoCPUs(t *testing.T) {
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
		if err := c.measure(t.Context(), time.Millisecond); err != nil {
			t.Fatal(err)
		}
		if b.atomic {
			sound(t, c)
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
	if got := lostAnswer(cells, nil); got != want+"." {
		t.Errorf("answer is %q, want %q", got, want)
	}
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
	if label := tables[0].Rows[0].Label; label != "A, two CPUs" {
		t.Errorf("the first row is %q", label)
	}
	var got []float64
	for _, cell := range append(tables[0].Rows[0].Cells, tables[1].Rows[0].Cells...) {
		got = append(got, cell.Median)
	}
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
		var bodies, locks []int
		for _, p := range places {
			bodies = append(bodies, len(p.cpus))
		}
		for _, p := range lockPlacements(places) {
			locks = append(locks, len(p.cpus))
		}
		if last := places[len(places)-1]; last.name != test.last || !slices.Equal(bodies, test.bodies) || !slices.Equal(locks, test.locks) {
			t.Errorf("%d CPUs: bodies run on %v, locks on %v, the last is %s; want %v, %v and %s",
				len(test.cpus), bodies, locks, last.name, test.bodies, test.locks, test.last)
		}
	}
}

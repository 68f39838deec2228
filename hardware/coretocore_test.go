package hardware

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
)

func twoHopCPUs(t testing.TB) [2]int {
	t.Helper()
	if err := needTwoCPUs(); err != nil {
		t.Skip(err)
	}
	cpus, _ := hopCPUs()
	return [2]int{cpus[0], cpus[1]}
}

func TestCoreToCoreRuns(t *testing.T) {
	cpus := twoHopCPUs(t)
	const procs = 2 // fewer than it needs
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(procs))
	var kept []result.Sample
	o := brief
	o.Keep = func(s result.Sample) error { kept = append(kept, s); return nil }
	calls := 0
	o.Progress = func(done, total int) { calls++ }
	f := runPatiently(t, coreToCore, o)
	if calls == 0 {
		t.Fatal("no call of Progress")
	}
	first := f.Tables[0]
	requireField(t, first)
	if len(first.Rows) != len(machine.CPUOrder()) && cpus[0] >= 0 {
		t.Errorf("%d rows for the CPUs %v", len(first.Rows), machine.CPUOrder())
	}
	if len(kept) < 2 || kept[len(kept)-1].Experiment != "core-to-core" {
		t.Errorf("kept %d samples", len(kept))
	}
	require.Equal(t, "GOMAXPROCS", runtime.GOMAXPROCS(0), procs)
	o = brief
	o.Earlier = kept
	o.Keep = func(s result.Sample) error {
		if slices.ContainsFunc(kept, func(k result.Sample) bool { return k.Key == s.Key }) {
			t.Errorf("%s is measured again", s.Key)
		}
		return nil
	}
	again, err := Run(t.Context(), coreToCore, o)
	requireNoError(t, err)
	if len(machine.CPUOrder()) == 2 && again.Answer != f.Answer {
		t.Errorf("from the same samples: %q and %q", f.Answer, again.Answer)
	}
}

func requireField(t *testing.T, field result.Table) {
	t.Helper()
	figures := 0
	for i, r := range field.Rows {
		for j, c := range r.Cells {
			if i == j && c != (result.Cell{}) || c != field.Rows[j].Cells[i] || c.N > 0 && (c.N < hopLeast || c.Lo > c.Median || c.Hi < c.Median || notATime(c.Median)) {
				t.Errorf("row %d, column %d is in the diagonal, not symmetric or no time: %v", i, j, c)
			}
			figures += c.N
		}
	}
	if figures == 0 || field.Chart != result.Heat || len(field.Columns) != len(field.Rows) {
		t.Errorf("no field: %+v", field)
	}
}

func TestInterruptShowsWhatIsThere(t *testing.T) {
	twoHopCPUs(t)
	var f *result.Finding
	var err error
	for visits := 1; f == nil && visits < 1000; visits *= 4 { // on a busy machine one gives too few samples
		ctx, cancel := context.WithCancel(t.Context())
		left := visits
		f, err = Run(ctx, coreToCore, Options{Repeats: 1 << 20, Budget: time.Hour, Progress: func(done, total int) {
			if left--; left == 0 {
				cancel()
			}
		}})
		cancel()
	}
	if !errors.Is(err, context.Canceled) || f == nil || !f.Interrupted {
		t.Errorf("finding %v, error %v", f, err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if f, err := Run(ended, coreToCore, Options{}); !errors.Is(err, context.Canceled) || f != nil {
		t.Errorf("finding %v, error %v", f, err)
	}
}

func pairOf(a, b int, r machine.Relation, samples ...float64) *hopPair {
	return &hopPair{cpus: [2]int{a, b}, relation: r, cas: samples}
}

func repeated(n int, ns float64) []float64 { return slices.Repeat([]float64{ns}, n) }

func TestHopFinding(t *testing.T) {
	two := pairOf(0, 1, machine.SMTSiblings, repeated(100, 10)...)
	two.both = []float64{10, 20, 10, 22, 10, 30}
	moved := pairOf(0, 3, machine.OtherPackage, append(repeated(60, 100), repeated(40, 300)...)...)
	movedBoth := pairOf(0, 3, machine.OtherPackage, moved.cas...)
	movedBoth.both = []float64{100, 150, 300, 600, 100, 150}
	for _, test := range []struct {
		name  string
		cpus  []int
		pairs []*hopPair
		note  string // the beginning of one
		want  string // the answer
	}{
		{"two CPUs", []int{0, 1}, []*hopPair{two}, "",
			"By CAS-spin a word takes 10 ns one way between CPU 0 and CPU 1. All samples are in one regime. " +
				"Load, then CAS takes 2.2 times as long."},
		{"two unbound threads", []int{-1, -2}, []*hopPair{pairOf(-2, -1, machine.Unknown, repeated(100, math.Pi)...)}, "threads are not bound",
			"By CAS-spin a word takes 3.14 ns one way between thread 2 and thread 1. All samples are in one regime."},
		{"two CPUs that move", []int{0, 3}, []*hopPair{moved}, "1 of 1 pairs were in more than one regime;",
			"By CAS-spin a word takes 100 ns (60 % of the samples) or 300 ns (40 %) one way between CPU 0 and CPU 3, depending on the regime."},
		{"two CPUs that move, both", []int{0, 3}, []*hopPair{movedBoth}, "",
			"By CAS-spin a word takes 100 ns (60 % of the samples) or 300 ns (40 %) one way between CPU 0 and CPU 3, depending on the regime. " +
				"Load, then CAS takes 1.5 to 2 times as long, depending on the pair and the regime."},
		{"four CPUs", []int{0, 1, 2, 3}, []*hopPair{two, moved, pairOf(1, 3, machine.OtherPackage, repeated(50, 104)...),
			pairOf(0, 2, machine.SameCache, repeated(50, 30)...), pairOf(1, 2, machine.SameCache), pairOf(2, 3, machine.OtherPackage, repeated(30, 1)...)}, "1 of 4 pairs were in more than one regime;",
			"By CAS-spin a word takes 10 ns one way between CPU 0 and CPU 1, the nearest, and 104 ns between CPU 1 and CPU 3, the farthest, 10.4 times as long. " +
				"There are 4 regimes: 10 ns (33 % of the samples), 30 ns (17 %), 100 ns (37 %) and 300 ns (13 %); 1 of 4 pairs changed from one to another. " +
				"Load, then CAS takes 2.2 times as long."},
		{"all move", []int{0, 1, 3}, []*hopPair{moved, pairOf(0, 1, machine.SameCache, append(repeated(50, 100), repeated(50, 290)...)...)}, "2 of 2 pairs were in more than one regime;",
			"By CAS-spin a word takes 100 ns one way between CPU 0 and CPU 3, the nearest, and 195 ns between CPU 0 and CPU 1, the farthest, 1.95 times as long. " +
				"There are 2 regimes: 100 ns (55 % of the samples) and 290 ns (45 %); 2 of 2 pairs changed from one to another, so what differs between pairs may be the time, not the place."},
		{"none moves", []int{0, 1, 2}, []*hopPair{two, pairOf(0, 2, machine.SameCache, repeated(100, 30)...)}, "",
			"By CAS-spin a word takes 10 ns one way between CPU 0 and CPU 1, the nearest, and 30 ns between CPU 0 and CPU 2, the farthest, 3 times as long. " +
				"There are 2 regimes: 10 ns (50 % of the samples) and 30 ns (50 %), and no pair changed from one to another. " +
				"Load, then CAS takes 2.2 times as long."},
	} {
		f := hopFinding(test.cpus, test.pairs)
		require.Equal(t, fmt.Sprintf("%s: answer", test.name), f.Answer, test.want)
		if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, test.note) }) || f.Tables[0].Rows[0].Label != strings.TrimPrefix(cpuName(test.cpus[0]), "CPU ") {
			t.Errorf("%s: notes are %q, the first row is %q", test.name, f.Notes, f.Tables[0].Rows[0].Label)
		}
		requireField(t, f.Tables[0])
		requireFinding(t, f)
	}
	require.Equal(t, "too few samples", hopFinding([]int{0, 1}, []*hopPair{pairOf(0, 1, machine.SameCache, repeated(hopLeast-1, 20)...)}), nil)
}

func TestHopTables(t *testing.T) {
	pairs := []*hopPair{pairOf(0, 1, machine.SMTSiblings, repeated(100, 10)...), pairOf(0, 2, machine.SameCache, repeated(40, 30)...),
		pairOf(0, 3, machine.SameCache, repeated(40, 50)...), pairOf(1, 2, machine.SameCache), pairOf(1, 3, machine.SameCache, repeated(40, 40)...),
		pairOf(2, 3, machine.OtherPackage)}
	pairs[0].both = []float64{10, 20, 10, 22, 10, 30}
	f := hopFinding([]int{0, 1, 2, 3}, pairs)
	cell := func(t result.Table, row, column int) result.Cell { return t.Rows[row].Cells[column] }
	field, relations, regimes, both := f.Tables[0], f.Tables[1], f.Tables[2], f.Tables[3]
	moved := pairOf(0, 3, machine.OtherPackage, append(repeated(60, 100), repeated(40, 300)...)...)
	moved.both = []float64{100, 150, 300, 600, 100, 150}
	byRegime := bothTable([]*hopPair{moved}, [][][]float64{regimesOf(slices.Sorted(slices.Values(moved.cas)))})
	for _, test := range []struct {
		what      string
		got, want result.Cell
	}{
		{"field 0 1", cell(field, 0, 1), result.Cell{Median: 10, Lo: 10, Hi: 10, N: 100}},
		{"field 1 0", cell(field, 1, 0), result.Cell{Median: 10, Lo: 10, Hi: 10, N: 100}},
		{"field 3 1", cell(field, 3, 1), result.Cell{Median: 40, Lo: 40, Hi: 40, N: 40}},
		{"field 1 2", cell(field, 1, 2), result.Cell{}},
		{"field 2 2", cell(field, 2, 2), result.Cell{}},
		{"pairs in one cache", cell(relations, 1, 0), exact(4)},
		{"measured in one cache", cell(relations, 1, 1), exact(3)},
		{"time in one cache", cell(relations, 1, 2), result.Cell{Median: 40, Lo: 30, Hi: 50, N: 3}},
		{"measured between packages", cell(relations, 2, 1), exact(0)},
		{"time between packages", cell(relations, 2, 2), result.Cell{Text: "-"}},
		{"regime 1", cell(regimes, 0, 0), result.Cell{Median: 10, Lo: 10, Hi: 10, N: 100}},
		{"pairs in regime 2", cell(regimes, 1, 2), exact(1)},
		{"both, CAS-spin", cell(both, 0, 0), result.Cell{Median: 10, Lo: 10, Hi: 10, N: 3}},
		{"both, ratio", cell(both, 0, 2), result.Cell{Median: 2.2, Lo: 2, Hi: 3, N: 3}},
		{"both, ratio in regime 1", cell(byRegime, 0, 2), result.Cell{Median: 1.5, Lo: 1.5, Hi: 1.5, N: 2}},
		{"both, ratio in regime 2", cell(byRegime, 1, 2), result.Cell{Median: 2, Lo: 2, Hi: 2, N: 1}},
	} {
		require.Equal(t, test.what, test.got, test.want)
	}
	if got := relations.Rows[1].Label; got != "same last-level cache" || len(relations.Rows) != 3 || byRegime.Rows[1].Label != "CPU 0 and CPU 3, at 300 ns" {
		t.Errorf("relations are %+v, and by regime %+v", relations.Rows, byRegime.Rows)
	}
	if !slices.ContainsFunc(f.Notes, func(n string) bool { return strings.HasPrefix(n, "2 of 6 pairs are not measured") }) {
		t.Errorf("notes are %q", f.Notes)
	}
}

func TestHopCPUs(t *testing.T) {
	twoHopCPUs(t)
	cpus, relation := hopCPUs()
	if cpus[0] < 0 {
		t.Skip("threads cannot be bound")
	}
	if !slices.Equal(slices.Sorted(slices.Values(cpus)), slices.Sorted(slices.Values(machine.CPUOrder()))) {
		t.Errorf("the CPUs are %v, want those of %v", cpus, machine.CPUOrder())
	}
	top := machine.ReadTopology()
	for _, a := range cpus {
		for _, b := range cpus {
			if got, want := relation(a, b), top.Relation(a, b); got != want {
				t.Errorf("%d and %d are %v, want %v", a, b, got, want)
			}
		}
	}
}

func TestShare(t *testing.T) {
	for part, want := range map[int]string{1: "0.01", 39: "0.4", 100: "1", 3333: "33", 10_000: "100"} {
		require.Equal(t, fmt.Sprintf("%d of 10,000", part), share(part, 10_000), want)
	}
}

// TestInterruptedAndResumed checks that both runs together measure the same pairs as one
// run would, and nothing twice.
func TestInterruptedAndResumed(t *testing.T) {
	errStop := errors.New("stop")
	for _, visits := range []int{1, 300, 700, 900} {
		var kept []result.Sample
		first := &aMachine{perVisit: time.Millisecond, stop: func(v int) error {
			if v == visits {
				return errStop
			}
			return nil
		}}
		s := first.sweep(24, 1)
		s.keep = func(s result.Sample) error { kept = append(kept, s); return nil }
		if err := s.run(t.Context()); !errors.Is(err, errStop) {
			t.Fatalf("error is %v", err)
		}
		measured := make(map[[2]int]bool)
		for _, p := range s.pairs {
			if p.measured() {
				measured[p.cpus] = true
			}
		}
		if visits == 900 && len(measured) == 0 {
			t.Error("nothing is finished after 900 visits")
		}
		second := &aMachine{perVisit: time.Millisecond}
		again := second.sweep(24, 1)
		again.keep = s.keep
		takeEarlier(again.pairs, kept)
		require.Equal(t, fmt.Sprintf("pairs taken up after %d visits", visits), countFinished(again), len(measured))
		requireNoError(t, again.run(t.Context()))
		for _, cpus := range second.log {
			if measured[cpus] {
				t.Fatalf("after %d visits %v is measured again", visits, cpus)
			}
		}
		seen := make(map[string]int)
		for _, k := range kept {
			seen[k.Key]++
		}
		if len(seen) != 24*23/2+hopBoth || len(kept) != len(seen) || countFinished(again) != 24*23/2 {
			t.Errorf("after %d visits: %d kept, %d different", visits, len(kept), len(seen))
		}
		third := &aMachine{}
		rest := third.sweep(24, 1)
		takeEarlier(rest.pairs, kept)
		if err := rest.run(t.Context()); err != nil || len(third.log) > 0 {
			t.Errorf("with everything finished %d visits, error %v", len(third.log), err)
		}
	}
}

func TestKeepEndsTheSweep(t *testing.T) {
	m := &aMachine{}
	s := m.sweep(16, 1)
	errFull := errors.New("disk full")
	calls := 0
	s.keep = func(result.Sample) error { calls++; return errFull }
	if err := s.run(t.Context()); !errors.Is(err, errFull) || calls != 1 {
		t.Errorf("error is %v after %d calls", err, calls)
	}
}

func TestTakeEarlier(t *testing.T) {
	enough := slices.Repeat([]float64{20}, hopLeast)
	for _, test := range []struct {
		name   string
		sample result.Sample
		done   bool
	}{
		{"good", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: enough}, true},
		{"other experiment", result.Sample{Experiment: "cost", Key: "0-1", Values: enough}, false},
		{"other CPUs", result.Sample{Experiment: "core-to-core", Key: "0-7", Values: enough}, false},
		{"no key", result.Sample{Experiment: "core-to-core", Values: enough}, false},
		{"too few", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: enough[1:]}, false},
		{"zero", result.Sample{Experiment: "core-to-core", Key: "0-1", Values: append([]float64{0}, enough...)}, false},
		{"blocks", result.Sample{Experiment: "core-to-core", Key: "0-1 both", Values: enough}, false},
	} {
		pairs := shuffledPairs([]int{0, 1}, (&aMachine{}).relation, 1)
		takeEarlier(pairs, []result.Sample{test.sample})
		if p := pairs[0]; p.measured() != test.done || p.measured() != (len(p.cas) > 0) || len(p.both) > 0 {
			t.Errorf("%s: %+v", test.name, p)
		}
	}
	pairs := shuffledPairs([]int{0, 1}, (&aMachine{}).relation, 1)
	takeEarlier(pairs, []result.Sample{
		{Experiment: "core-to-core", Key: "0-1 both", Values: []float64{20, 30}},
		{Experiment: "core-to-core", Key: "0-1", Values: enough}})
	require.Equal(t, "blocks", fmt.Sprint(pairs[0].both), "[20 30]")
}

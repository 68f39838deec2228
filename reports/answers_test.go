package reports

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/plot/vg"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/internal/synthetic"
)

// TestLorenz compares curves with those of shares for which they are known.
func TestLorenz(t *testing.T) {
	for _, c := range []struct {
		name       string
		bars       []float64 // descending
		half, gini float64
		ok         bool
	}{
		{"equal", []float64{1, 1, 1, 1}, 50, 0, true},
		{"one has all", []float64{4, 0, 0, 0}, 0, 75, true},
		{"one of two has all", []float64{2, 0}, 0, 50, true},
		{"three to one", []float64{1.5, 0.5}, 25, 25, true},
		{"an odd number", []float64{2, 1, 0}, 100.0 / 6, 100 * 4.0 / 9, true},
		{"one worker", []float64{1}, 0, 0, false},
		{"nothing", []float64{0, 0}, 0, 0, false},
		{"not finite", []float64{math.Inf(1), 1}, 0, 0, false},
		{"not a number", []float64{math.NaN(), 1}, 0, 0, false},
	} {
		l, ok := newLorenz(nil, c.bars)
		if ok != c.ok || ok && (math.Abs(l.half-c.half) > 1e-9 || math.Abs(l.gini-c.gini) > 1e-9) {
			t.Errorf("%s: half %v, Gini %v, %v; want %v, %v, %v", c.name, l.half, l.gini, ok, c.half, c.gini, c.ok)
		}
	}
}

// TestLot compares the formula with lots that are drawn.
func TestLot(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{2, 5, 16} {
		const tries = 20000
		served := 0
		for range tries {
			seen := make(map[int]bool)
			for range n {
				seen[rng.IntN(n)] = true
			}
			served += len(seen)
		}
		if got, want := randomShare(float64(n)), 100*float64(served)/float64(tries*n); math.Abs(got-want) > 1 {
			t.Errorf("%d workers: the formula gives %.1f %%, lots %.1f %%", n, got, want)
		}
	}
	if got := randomShare(1); got != 100 {
		t.Errorf("one worker: %v %%", got)
	}
}

// waitsOf makes a histogram of n waits around each centre, with a deviation of a
// tenth.
func waitsOf(n int64, centres ...float64) harness.Histogram {
	counts := make(map[int64]int64)
	for _, c := range centres {
		for i := range n {
			q := (float64(i) + 0.5) / float64(n)
			counts[int64(c*math.Exp(0.1*math.Sqrt2*math.Erfinv(2*q-1)))]++
		}
	}
	var h harness.Histogram
	for v, n := range counts {
		h = append(h, harness.Bucket{Value: v, N: n})
	}
	slices.SortFunc(h, func(a, b harness.Bucket) int { return int(a.Value - b.Value) })
	return h
}

// TestModes: as many kinds of waits are found as there are.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		name  string
		h     harness.Histogram
		floor float64
		at    []float64
		share []float64
	}{
		{"one", waitsOf(1000, 5000), 0, []float64{5000}, []float64{1}},
		{"two", waitsOf(1000, 300, 20000), 0, []float64{300, 20000}, []float64{0.5, 0.5}},
		{"three", waitsOf(1000, 300, 20000, 4e6), 0, []float64{300, 20000, 4e6}, []float64{1. / 3, 1. / 3, 1. / 3}},
		{"two that are one", waitsOf(1000, 5000, 5400), 0, []float64{5200}, []float64{1}},
		{"the lesser under the floor", waitsOf(1000, 30, 20000), 95, []float64{95, 20000}, []float64{0.5, 0.5}},
		{"all under the floor", waitsOf(1000, 30), 95, []float64{95}, []float64{1}},
		{"too rare to count", append(waitsOf(1000, 5000), harness.Bucket{Value: 9e6, N: 20}), 0, []float64{5000}, []float64{1}},
		{"one value", harness.Histogram{{Value: 700, N: 500}}, 0, []float64{700}, []float64{1}},
	} {
		x := &shape{s: &series{}, h: c.h, n: c.h.Count()}
		x.measure(newShapeScale([]*shape{x}, c.floor))
		if len(x.modes) != len(c.at) {
			t.Errorf("%s: got %v, want %d modes", c.name, x.modes, len(c.at))
			continue
		}
		for i, h := range x.modes {
			if math.Abs(math.Log(h.at/c.at[i])) > 0.12 || math.Abs(h.share-c.share[i]) > 0.03 {
				t.Errorf("%s: mode %d is %+v, want %v of the waits around %v", c.name, i, h, c.share[i], c.at[i])
			}
		}
	}
}

// TestTimeline reads a log of three bursts.
func TestTimeline(t *testing.T) {
	log := []uint16{0, 0, 0, 0, 1, 2, 2, 1, 0, 1, 2, 0}
	r := &harness.Result{Ops: 100, Handovers: 40, Workers: []uint64{50, 30, 20}, Owners: log, Burst: 4, Round: 6}
	c := &cell{Rounds: map[int]*harness.Result{6: r}}
	got := timelineOf(c, nil)
	if got == nil || !slices.Equal(got.owners, log[4:8]) || got.longest != 4 || !got.cut || got.served != 2 || got.handed != 0.4 {
		t.Errorf("got %+v, want the middle burst with two owners, and a streak that fills the first", got)
	}
	if want := []streak{{1, 0, 1}, {2, 1, 3}, {1, 3, 4}}; !slices.Equal(got.streaks, want) {
		t.Errorf("streaks %v, want %v", got.streaks, want)
	}
	for name, spoil := range map[string]func(r *harness.Result){
		"no log":           func(r *harness.Result) { r.Owners = nil },
		"no burst":         func(r *harness.Result) { r.Burst = 0 },
		"a strange worker": func(r *harness.Result) { r.Owners = []uint16{0, 1, 2, 3} },
		"one worker":       func(r *harness.Result) { r.Workers, r.Owners = []uint64{9}, []uint16{0, 0, 0, 0} },
		"no acquisition":   func(r *harness.Result) { r.Ops = 0 },
	} {
		bad := *r
		spoil(&bad)
		if got := timelineOf(&cell{Rounds: map[int]*harness.Result{0: &bad}}, nil); got != nil {
			t.Errorf("%s: got %+v, want nothing", name, got)
		}
	}
}

// TestFront: a lock that is slower and less fair than another one is off it, and
// dominated only if there are rounds enough and no doubt.
func TestFront(t *testing.T) {
	quick := synthetic.With(synthetic.Fast("quick", 4e6), func(m *synthetic.Model) { m.Skew, m.Noise = 3, 0.01 })
	middle := synthetic.With(synthetic.Fast("middle", 2e6), func(m *synthetic.Model) { m.Skew, m.Noise = 1.5, 0.01 })
	equal := synthetic.With(synthetic.Fast("equal", 1e6), func(m *synthetic.Model) { m.Noise = 0.01 })
	worse := synthetic.With(synthetic.Fast("worse", 0.9e6), func(m *synthetic.Model) { m.Skew, m.Noise = 1.5, 0.01 })
	doubt := synthetic.With(synthetic.Fast("doubt", 1.6e6), func(m *synthetic.Model) { m.Skew, m.Noise = 2, 0.3 })
	models := []synthetic.Model{quick, middle, equal, worse, doubt}
	run := synthetic.Run(2, 10, 2, []int{8}, models...)
	got := make(map[string]*tradeoff)
	for _, x := range groups(run)[0].tradeoffs(8) {
		got[x.s.Lock.Name] = x
	}
	for name, want := range map[string][2]bool{"quick": {true, false}, "middle": {true, false}, "equal": {true, false}, "worse": {false, true}, "doubt": {false, false}} {
		if x := got[name]; x.front != want[0] || x.dominated != want[1] {
			t.Errorf("%s: on the front %v, dominated %v; want %v", name, x.front, x.dominated, want)
		}
	}
	answer := strings.ReplaceAll(drawPareto(groups(run)[0]).answer, nb, " ")
	for _, want := range []string{"3 of 5 locks are on the front", "quick (4", "equal (", "these are not shown to be dominated: doubt"} {
		if !strings.Contains(answer, want) {
			t.Errorf("the answer %q lacks %q", answer, want)
		}
	}
	if few := drawPareto(groups(synthetic.Run(2, 3, 2, []int{8}, models...))[0]).answer; !strings.Contains(few, "n = 3: too few rounds") {
		t.Errorf("three rounds: %q does not say that they are too few", few)
	}
	one := drawPareto(groups(synthetic.Run(2, 10, 2, []int{8}, equal, worse))[0]).answer
	if !strings.Contains(one, "here fairness costs nothing") {
		t.Errorf("one lock on the front: %q", one)
	}
}

// TestLadder: what is not the lock is taken away, and what then cannot be told
// from nothing is a bound.
func TestLadder(t *testing.T) {
	const turn = 100 // ns of the control
	costs := func(ns, noise float64) func(m *synthetic.Model) {
		return func(m *synthetic.Model) { m.Rate, m.Noise = synthetic.Constant(1e9/(turn+ns)), noise }
	}
	control := synthetic.With(synthetic.Fast("nothing", 0), costs(0, 0))
	control.Lock.Status = harness.Control
	run := synthetic.Run(6, 10, 2, []int{1}, control,
		synthetic.With(synthetic.Fast("cheap", 0), costs(20, 0)), synthetic.With(synthetic.Fast("dear", 0), costs(400, 0)), synthetic.With(synthetic.Fast("lost", 0), costs(0, 0.1)),
		synthetic.Model{Lock: synthetic.Served("server", harness.Redis, harness.KindRedis), Rate: synthetic.Constant(1e4)})
	for _, r := range run.Results {
		if r.Lock.Name == "server" { // 100 µs, of which 50 are held
			r.Hold = harness.Spans{N: 10, Sum: 500 * time.Microsecond}
		}
	}
	got := make(map[string]rung)
	for _, r := range groups(run)[0].rungs() {
		got[r.name] = r
	}
	for name, want := range map[string]float64{"cheap": 20, "dear": 400, "server": 50000} {
		if r := got[name]; r.atMax || math.Abs(r.Median-want) > 0.001*want {
			t.Errorf("%s costs %+v, want %v ns", name, r.Summary, want)
		}
	}
	if r := got["lost"]; !r.atMax || r.Median <= 0 {
		t.Errorf("lost costs %+v, want a bound", r)
	}
	if _, there := got["nothing"]; there {
		t.Error("the control is in the ladder")
	}
	run.Results = slices.DeleteFunc(run.Results, func(r *harness.Result) bool { return r.Lock.Name == "nothing" })
	for _, r := range groups(run)[0].rungs() {
		if r.name == "cheap" && (!r.atMax || math.Abs(r.Median-turn-20) > 0.1) {
			t.Errorf("without a control cheap costs %+v, want the whole turn as a bound", r)
		}
	}
}

// TestLadderHasTheHardware takes single operations from the findings of a run.
func TestLadderHasTheHardware(t *testing.T) {
	run := synthetic.Run(6, 6, 2, []int{1}, synthetic.Fast("lock", 1e6))
	hardware, err := resultfile.Load("testdata/hardware")
	if err != nil {
		t.Fatal(err)
	}
	run.Findings = hardware.Findings
	rs := groups(run)[0].rungs()
	var names []string
	for _, r := range rs {
		names = append(names, r.name)
	}
	for _, want := range []string{"plain load", "CAS that hits", "a word to another CPU", "lock"} {
		if !slices.Contains(names, want) {
			t.Errorf("the ladder %v lacks %q", names, want)
		}
	}
	if answer := ladderAnswer(rs); !strings.HasPrefix(answer, "Lowest medians: of the hardware plain load (0.284") {
		t.Errorf("got %q", answer)
	}
}

// TestNames: names in a scatter overlap neither marks nor each other.
func TestNames(t *testing.T) {
	o := obstacles{hard: []vg.Rectangle{around(vg.Point{X: 50, Y: 50}, 5, 5)}}
	for _, c := range []struct {
		box  vg.Rectangle
		want bool
	}{
		{around(vg.Point{X: 50, Y: 50}, 1, 1), false},
		{around(vg.Point{X: 58, Y: 50}, 2, 2), true},
		{around(vg.Point{X: 56, Y: 50}, 2, 2), false},
		{around(vg.Point{X: 50, Y: 60}, 100, 2), true},
	} {
		if got := free(c.box, o.hard); got != c.want {
			t.Errorf("%v is free: %v, want %v", c.box, got, c.want)
		}
	}
}

// TestShortTerm: of two locks with equal shares, the chart tells the one that
// rotates from the one that stays.
func TestShortTerm(t *testing.T) {
	rotates := synthetic.Fast("rotates", 1e6)
	rotates.Handed = 1
	stays := synthetic.Fast("stays", 1e6)
	stays.Handed = 0.01
	g := groups(synthetic.Run(1, 8, 2, []int{2, 8}, rotates, stays))[0]
	if j := g.series[0].Cells[8].Summary(metric.Jain); j.Median < 95 {
		t.Fatalf("the shares are not equal: Jain %v", j.Median)
	}
	got := strings.ReplaceAll(drawShortTerm(g).answer, nb, " ")
	for _, want := range []string{"rotates serves 99", "stays 1", "1 of 2 locks serve more workers than owners drawn uniformly at random", "Half of the time of stays falls into streaks of more than"} {
		if !strings.Contains(got, want) {
			t.Errorf("the answer %q lacks %q", got, want)
		}
	}
}

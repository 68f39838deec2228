package hardware

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"locklab/atomics"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
	"locklab/internal/stat"
)

// TestHandOver: both threads finish all exchanges, and the word has its initial value.
func TestHandOver(t *testing.T) {
	const hops = 1000
	for _, h := range []handOver{casSpin, loadThenCAS} {
		var w atomics.Uint64
		var led atomic.Bool
		done := make(chan bool)
		go func() {
			h.hand(&w, 1, hops)
			done <- led.Load()
		}()
		h.hand(&w, 0, hops-1)
		led.Store(true)
		h.hand(&w, 0, 1)
		if !<-done {
			t.Errorf("%s: the follower was done before its last exchange", h.name)
		}
		require.Equal(t, h.name+": the word at the end", w.Load(), 0)
	}
}

func startRig(t testing.TB, cpus [2]int) *hopRig {
	t.Helper()
	rig, err := newHopRig(cpus[:]...)
	requireNoError(t, err)
	t.Cleanup(rig.close)
	return rig
}

func TestExchange(t *testing.T) {
	cpus := twoHopCPUs(t)
	rig := startRig(t, cpus)
	for _, h := range []handOver{casSpin, loadThenCAS} {
		e := rig.exchange(h, cpus, hopSpan)
		n := 0
		for try := 0; try < 1000 && n < 40; try++ { // a busy machine disturbs most blocks
			ns := e.block(10)
			if len(ns) > 10 || slices.ContainsFunc(ns, notATime) {
				t.Fatalf("%s: asked for 10 samples, got %v", h.name, ns)
			}
			n += len(ns)
		}
		if n < 40 {
			t.Errorf("%s: %d samples in 1000 blocks of 10", h.name, n)
		}
		if e.hops < firstHops || e.hops > mostHops {
			t.Errorf("%s: %d hops", h.name, e.hops)
		}
	}
}

func TestLinesAreAlone(t *testing.T) {
	rig := startRig(t, [2]int{unbound, unbound})
	seen := make(map[*atomics.Uint64]bool)
	for range 3 * hopArena {
		line := rig.fresh(1)
		seen[&line.w] = true
		line.w.Store(1)
	}
	require.Equal(t, "fresh lines", len(seen), 3*hopArena)
	if size := int(unsafe.Sizeof(hopLine{})); size < atomics.CacheLine+8 {
		t.Errorf("a line is %d bytes", size)
	}
}

func TestAdaptHops(t *testing.T) {
	for _, test := range []struct {
		hops int
		took time.Duration
		want int
	}{
		{100, 10 * time.Microsecond, 2500},
		{1000, 250 * time.Microsecond, 1000},
		{1000, 500 * time.Microsecond, 500},
		{1000, 50 * time.Millisecond, 500}, // interrupted
		{firstHops, time.Second, firstHops},
		{1000, 0, mostHops},
	} {
		require.Equal(t, fmt.Sprintf("the hops after %d in %v", test.hops, test.took), adaptHops(test.hops, test.took, 250*time.Microsecond), test.want)
	}
}

type syntheticLevel struct {
	ns, spread float64
	n          int
}

func synthesizeHops(seed uint64, levels ...syntheticLevel) []float64 {
	random := rand.New(machine.NewRandom(seed))
	var s []float64
	for _, l := range levels {
		for range l.n {
			s = append(s, l.ns*math.Exp(l.spread*random.NormFloat64()))
		}
	}
	slices.Sort(s)
	return s
}

func scatterSamples(seed uint64, samples []float64, n int, a, b float64) []float64 {
	random := rand.New(machine.NewRandom(seed))
	for range n {
		samples = append(samples, a*math.Pow(b/a, random.Float64()))
	}
	slices.Sort(samples)
	return samples
}

func TestRegimes(t *testing.T) {
	for _, test := range []struct {
		name    string
		samples func(seed uint64) []float64
		want    []float64 // medians
		share   []float64
	}{
		{"one", func(s uint64) []float64 { return synthesizeHops(s, syntheticLevel{27, 0.04, 31}) }, []float64{27}, []float64{1}},
		{"one, wide", func(s uint64) []float64 { return synthesizeHops(s, syntheticLevel{27, 0.15, 400}) }, []float64{27}, []float64{1}},
		{"one, nothing but equal", func(uint64) []float64 { return slices.Repeat([]float64{27}, 40) }, []float64{27}, []float64{1}},
		{"one of any figures", func(s uint64) []float64 { return scatterSamples(s, nil, 2000, 25, 100) }, []float64{50}, []float64{1}},
		{"two", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{27, 0.04, 40}, syntheticLevel{105, 0.06, 20})
		}, []float64{27, 105}, []float64{2. / 3, 1. / 3}},
		{"two, near", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{27, 0.02, 500}, syntheticLevel{37, 0.02, 500})
		}, []float64{27, 37}, []float64{0.5, 0.5}},
		{"two, too near", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{27, 0.01, 500}, syntheticLevel{32, 0.01, 500})
		}, []float64{29.4}, []float64{1}},
		{"two, a little too near", func(uint64) []float64 {
			return append(repeated(500, 27), repeated(500, 27*math.Pow(regimeGap, 0.9))...)
		}, []float64{30.6}, []float64{1}},
		{"two, one of them rare", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{27, 0.04, 950}, syntheticLevel{105, 0.04, 50})
		}, []float64{27, 105}, []float64{0.95, 0.05}},
		{"one and some too rare", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{27, 0.04, 990}, syntheticLevel{105, 0.04, 10})
		}, []float64{27}, []float64{1}},
		{"one and outliers", func(s uint64) []float64 {
			return scatterSamples(s, synthesizeHops(s, syntheticLevel{27, 0.04, 1000}), 50, 40, 4000)
		}, []float64{27}, []float64{1}},
		{"two and outliers", func(s uint64) []float64 {
			return scatterSamples(s, synthesizeHops(s, syntheticLevel{27, 0.04, 600}, syntheticLevel{105, 0.04, 400}), 50, 20, 4000)
		}, []float64{27, 105}, []float64{0.6, 0.4}},
		{"three", func(s uint64) []float64 {
			return synthesizeHops(s, syntheticLevel{10.1, 0.05, 100}, syntheticLevel{28, 0.05, 300}, syntheticLevel{108, 0.06, 200})
		}, []float64{10.1, 28, 108}, []float64{1. / 6, 1. / 2, 1. / 3}},
	} {
		for seed := range uint64(20) {
			samples := test.samples(seed)
			got := regimesOf(samples)
			require.Equal(t, fmt.Sprintf("%s, seed %d", test.name, seed), sameRegimes(got, samples, test.want, test.share), "")
		}
	}
	require.Equal(t, "regimes of nothing", len(regimesOf(nil)), 0)
}

func sameRegimes(got [][]float64, samples, want, share []float64) string {
	if !slices.Equal(slices.Concat(got...), samples) {
		return "the regimes are not the samples"
	}
	medians := result.Each(got, stat.Median)
	if len(got) != len(want) {
		return fmt.Sprintf("the medians are %.3g, want %v", medians, want)
	}
	for i, g := range got {
		if s := float64(len(g)) / float64(len(samples)); math.Abs(medians[i]/want[i]-1) > 0.1 || math.Abs(s-share[i]) > 0.06 {
			return fmt.Sprintf("the medians are %.3g, want %v; number %d has %.2f of the samples, want %.2f", medians, want, i, s, share[i])
		}
	}
	return ""
}

func TestGroupRegimes(t *testing.T) {
	of := func(ns float64, n int) []float64 { return slices.Repeat([]float64{ns}, n) }
	got := groupRegimes([][][]float64{
		{of(27, 60), of(105, 40)},
		{of(28, 100)},
		{of(30, 10), of(36, 20), of(110, 70)}, // 30 and 36 follow each other
		{of(300, 5)},
	})
	want := []struct {
		median   float64
		n, pairs int
	}{{28, 190, 3}, {110, 110, 2}, {300, 5, 1}}
	if len(got) != len(want) {
		t.Fatalf("%d regimes", len(got))
	}
	for i, w := range want {
		if r := got[i]; stat.Median(r.samples) != w.median || len(r.samples) != w.n || r.pairs != w.pairs || !slices.IsSorted(r.samples) {
			t.Errorf("regime %d: median %v of %d samples in %d pairs, want %+v", i, stat.Median(r.samples), len(r.samples), r.pairs, w)
		}
	}
}

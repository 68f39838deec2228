package judge

import (
	"math"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/require"
)

// loadsOf returns loads at 100, 200 … per second; p99 (ns) and granted are of rate and round.
func loadsOf(rounds int, p99 func(i, round int) float64, granted func(i, round int) float64) (ls []Load) {
	for i := range 6 {
		c := &Cell{Rounds: make(map[int]*result.Result)}
		rate := harness.Rate(100 * (i + 1))
		for round := range rounds {
			ops := uint64(granted(i, round) / 100 * float64(rate))
			c.Rounds[round] = &result.Result{Workload: harness.Workload{Workers: 8, Rate: rate}, Round: round, Elapsed: time.Second, Ops: ops,
				Open: &result.OpenLoop{Offered: uint64(rate), Span: time.Second, Backlog: uint64(rate) - ops},
				// 2 % of the waits are around the wanted p99, half of them longer.
				Wait: result.Histogram{{Value: 10, N: 980}, {Value: int64(p99(i, round)), N: 10}, {Value: int64(2 * p99(i, round)), N: 10}}}
		}
		ls = append(ls, Load{rate, c})
	}
	return ls
}

func fullShare(i, round int) float64 { return 100 }

func TestSaturationOf(t *testing.T) {
	flat := func(int, int) float64 { return 1000 }
	steep := func(i, _ int) float64 { return 1000 * math.Pow(2, float64(i)) } // 16 times at 500/s
	for _, c := range []struct {
		name         string
		p99, granted func(i, round int) float64
		want         Saturation
	}{
		{"longer waits", steep, fullShare, Saturation{UpTo: 400, Over: 500, Rule: result.LimitP99, From: 400, To: 500}},
		{"falls behind", flat, func(i, _ int) float64 { return []float64{100, 99, 96, 94, 60, 50}[i] },
			Saturation{UpTo: 300, Over: 400, Rule: result.LimitGranted, From: 300, To: 400}},
		{"up to all", flat, fullShare, Saturation{UpTo: 600}},
		{"up to nothing", flat, func(int, int) float64 { return 50 }, Saturation{Over: 100, Rule: result.LimitGranted, To: 100}},
		{"ten times is not over", func(i, _ int) float64 { return []float64{1000, 10000, 10000, 10000, 10000, 10001}[i] }, fullShare,
			Saturation{UpTo: 500, Over: 600, Rule: result.LimitP99, From: 500, To: 600}},
		{"half of the rounds fall behind at 300/s, the others at 500/s", flat, func(i, round int) float64 {
			if i >= 4 || i >= 2 && round%2 == 0 {
				return 80
			}
			return 100
		}, Saturation{UpTo: 200, Over: 300, Rule: result.LimitGranted, From: 200, To: 500}},
	} {
		k, ok := SaturationOf(loadsOf(10, c.p99, c.granted), 5)
		if !ok || k.Rest != 100 || k.RestP99 != c.p99(0, 0) {
			t.Errorf("%s: unloaded p99 is %v at %v, %v", c.name, k.RestP99, k.Rest, ok)
		}
		got := Saturation{UpTo: k.UpTo, Over: k.Over, Rule: k.Rule, From: k.From, To: k.To}
		if c.want.Over == 0 {
			c.want.From = c.want.UpTo
		}
		require.Equal(t, c.name, got, c.want)
	}
}

// TestSaturationOfStalls: one stalling round widens the interval and moves no point.
func TestSaturationOfStalls(t *testing.T) {
	for _, c := range []struct {
		rounds, stalled int // of the waits in one round, in 1000
		want            harness.Rate
	}{{10, 60, 300}, {5, 11, 300}, {6, 11, 600}} {
		ls := loadsOf(c.rounds, func(int, int) float64 { return 1000 }, fullShare)
		for _, l := range ls[3:] {
			l.Cell.Rounds[0].Wait = result.Histogram{{Value: 10, N: 1000 - int64(c.stalled)}, {Value: 1e9, N: int64(c.stalled)}}
		}
		if k, ok := SaturationOf(ls, 0); !ok || k.UpTo != 600 || k.Over != 0 || k.From != c.want || k.To != 0 {
			t.Errorf("%+v: %+v, %v", c, k, ok)
		}
	}
}

// TestSaturationUnresolved: a rate without a resolved p99 may show only that the lock falls behind.
func TestSaturationUnresolved(t *testing.T) {
	steep := func(i, _ int) float64 { return 1000 * math.Pow(2, float64(i)) }
	few := func(ls []Load, which ...int) []Load {
		for _, i := range which {
			for _, r := range ls[i].Cell.Rounds {
				r.Wait = result.Histogram{{Value: 10, N: 50}}
			}
		}
		return ls
	}
	if k, ok := SaturationOf(few(loadsOf(10, steep, fullShare), 0, 1), 0); !ok || k.Rest != 300 || k.UpTo != 600 || k.Over != 0 {
		t.Errorf("without p99 at two rates: %+v, %v", k, ok)
	}
	behind := func(i, _ int) float64 { return []float64{100, 100, 100, 50, 50, 50}[i] }
	if k, ok := SaturationOf(few(loadsOf(10, steep, behind), 3), 0); !ok || k.UpTo != 300 || k.Over != 400 || k.Rule != result.LimitGranted {
		t.Errorf("without p99 where it falls behind: %+v, %v", k, ok)
	}
	if k, ok := SaturationOf(few(loadsOf(10, steep, fullShare), 0, 1, 2, 3, 4, 5), 0); ok {
		t.Errorf("without p99: %+v", k)
	}
	if k, ok := SaturationOf(nil, 0); ok {
		t.Errorf("without results: %+v", k)
	}
	if k, ok := SaturationOf(loadsOf(10, func(i, _ int) float64 { return []float64{20, 20, 20, 20, 400, 501}[i] }, fullShare), 50); !ok || k.RestP99 != 50 || k.UpTo != 500 {
		t.Errorf("under the floor of the clock: %+v, %v", k, ok)
	}
}

// TestSaturationOfFewArrivals: one arrival of ten that is served after the window shows no limit.
func TestSaturationOfFewArrivals(t *testing.T) {
	ls := loadsOf(8, func(int, int) float64 { return 1000 }, fullShare)
	for _, r := range ls[1].Cell.Rounds {
		r.Ops, r.Elapsed = 9, time.Second/20
		r.Open = &result.OpenLoop{Offered: 10, Span: r.Elapsed, Backlog: 1}
	}
	if k, ok := SaturationOf(ls, 0); !ok || k.UpTo != 600 || k.Over != 0 {
		t.Errorf("%+v, %v", k, ok)
	}
}

func TestSaturationUnsound(t *testing.T) {
	for rounds, want := range map[int]bool{0: false, 5: false, 6: true, 10: true} {
		ls := loadsOf(10, func(int, int) float64 { return 1000 }, fullShare)
		for round := range rounds {
			ls[0].Cell.Rounds[round].Warnings = []machine.Warning{{Kind: "overlap"}, {Kind: "pool"}}
		}
		for _, r := range ls[5].Cell.Rounds { // at a greater load the lock is too slow
			r.Warnings = []machine.Warning{{Kind: "pool"}}
		}
		if k, ok := SaturationOf(ls, 0); !ok || k.Unsound != want {
			t.Errorf("with a warning in %d of 10 rounds: %v", rounds, k.Unsound)
		}
	}
}

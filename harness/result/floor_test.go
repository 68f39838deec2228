package result

import (
	"math"
	"testing"
	"time"
)

func TestUnderTheFloor(t *testing.T) {
	quantile := func(h Histogram) *Result {
		return &Result{Wait: h, Handover: h, ClockFloor: 20, ClockStep: 10, Transfer: 50, RoundTrip: 25} // floor 150
	}
	spans := func(mean int64) *Result {
		const n = 100 // the step counts a tenth: 5 * (20 + 1)
		return &Result{Hold: Spans{N: n, Sum: time.Duration(mean * n)},
			Handover: Histogram{{Value: mean, N: n}}, ClockFloor: 20, ClockStep: 10}
	}
	in := func(r *Result, elapsed time.Duration, handovers uint64) *Result {
		r.Elapsed, r.Handovers = elapsed, handovers
		return r
	}
	all := func(v int64) Histogram { return Histogram{{Value: v, N: 20_000}} }
	for _, c := range []struct {
		m     *Metric
		r     *Result
		want  float64 // NaN for no figure
		bound float64
	}{
		{P50, quantile(all(149)), math.NaN(), 150}, {P50, quantile(all(150)), 150, 0},
		{P99, quantile(all(10)), math.NaN(), 150}, {P999, quantile(all(10)), math.NaN(), 150},
		{P999, quantile(all(900)), 900, 0}, {MomentP99, quantile(all(900)), 900, 0}, {MomentP99, quantile(all(10)), math.NaN(), 150},
		{HandoverTime, quantile(all(40)), math.NaN(), 150}, {HandoverTime, quantile(all(200)), 200, 0},
		{HandoverTransfers, quantile(all(40)), math.NaN(), 3}, {HandoverTransfers, quantile(all(200)), 4, 0},
		{HandoverRoundTrips, quantile(all(40)), math.NaN(), 6}, {HandoverRoundTrips, quantile(all(200)), 8, 0},
		{P50RoundTrips, quantile(all(149)), math.NaN(), 6}, {P50RoundTrips, quantile(all(150)), 6, 0},
		{P99RoundTrips, quantile(all(10)), math.NaN(), 6}, {P99RoundTrips, quantile(all(900)), 36, 0},
		{Hold, spans(104), math.NaN(), 105}, {Hold, spans(105), 105, 0},
		{HandoverMean, spans(104), math.NaN(), 105}, {HandoverMean, spans(105), 105, 0},
		{HandoverShare, in(spans(104), 1050*time.Nanosecond, 10), math.NaN(), 100},
		{HandoverShare, in(spans(104), 2100*time.Nanosecond, 10), math.NaN(), 50},
		{HandoverShare, in(spans(105), 2100*time.Nanosecond, 10), 50, 0},
		{P50, quantile(nil), math.NaN(), 0},
	} {
		got, ok := c.m.Of(c.r)
		if want := !math.IsNaN(c.want); ok != want || ok && got != c.want {
			t.Errorf("%s is %v, %v; want %v", c.m.Name, got, ok, c.want)
		}
		if x, want := c.m.Read(c.r), c.bound != 0; x.Bound != want || want && x.Value != c.bound {
			t.Errorf("%s is %+v; want at most %v", c.m.Name, x, c.bound)
		}
	}
}

func TestSummaryOfBounds(t *testing.T) {
	rounds := func(waits ...int64) (rs []*Result) {
		for _, v := range waits {
			r := &Result{ClockFloor: 20, ClockStep: 10} // floor 150
			if v > 0 {
				r.Wait = Histogram{{Value: v, N: 100}}
			}
			rs = append(rs, r)
		}
		return rs
	}
	for _, c := range []struct {
		rs     []*Result
		median float64
		n      int
		atMost bool
	}{
		{rounds(30, 40, 900), 150, 3, true}, // not 900
		{rounds(30, 800, 900), 800, 3, false},
		{rounds(40, 0, 160), 155, 2, false}, // one round has no value
		{rounds(300, 500), 400, 2, false},
		{rounds(20, 20), 150, 2, true},
	} {
		if s := P50.Summary(c.rs); s.Median != c.median || s.N != c.n || s.AtMost != c.atMost {
			t.Errorf("got %+v, want median %v of %d, at most %v", s, c.median, c.n, c.atMost)
		}
	}
	if s := P50.Summary(nil); s.N != 0 || s.AtMost {
		t.Errorf("no rounds: got %+v", s)
	}
	if s := WindowJain.Summary([]*Result{{Workers: []uint64{1, 1}}, {}}); s.N != 1 || s.Median != 100 || s.AtMost {
		t.Errorf("a metric without bounds: got %+v", s)
	}
}

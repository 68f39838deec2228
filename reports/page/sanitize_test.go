package page

import (
	"math"
	"strings"
	"testing"
	"time"
	"unicode"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/reports/chart"
)

func TestAbsurdRun(t *testing.T) {
	const hostile = "\x1b[2J\u202e\nBenchmark"
	run := new(result.Run)
	run.Manifest = result.Manifest{Rounds: 6, Cases: 4, Finished: time.Unix(1, 0)}
	names := []string{strings.Repeat("m", 90), strings.Repeat("m", 90) + "2", strings.Repeat("é", 10_000), hostile}
	for round := range 6 {
		for i, name := range names {
			r := &harness.Result{Lock: harness.Lock{Name: name, Doc: name, Paper: name, Family: harness.Family(name)},
				Workload: harness.Workload{Workers: 1 + i%2, Window: time.Second, Hold: harness.Span{Mean: 100}, Pin: harness.Pin(strings.Repeat("p", 200))},
				Round:    round, Elapsed: time.Second, Ops: uint64(1000 * (1 + i + round)), Workers: []uint64{1, 2}, Overlap: 1, Clock: name,
				Wait: harness.Histogram{{Value: 100, N: 1000}, {Value: 1000, N: 10}}}
			if round == 5 {
				r.Ops, r.Elapsed, r.Workload.Workers, r.ClockFloor = math.MaxUint64, math.MaxInt64, math.MaxInt32, 1e300
				r.Workload.Hold.Mean, r.Workload.Think.Mean, r.Workload.GOMAXPROCS = math.MaxInt64, math.MaxInt64, math.MaxInt64
			}
			run.Results = append(run.Results, r)
		}
	}
	for name, got := range formsOf(t, run) {
		if strings.Contains(got, strings.Repeat("m", chart.MostName+1)) || len(got) == 0 {
			t.Errorf("%s: a long name is whole", name)
		}
		if i := strings.IndexFunc(got, func(r rune) bool { return r != '\n' && r != '\t' && !unicode.IsGraphic(r) }); i >= 0 {
			t.Errorf("%s: %q", name, got[i:min(len(got), i+40)])
		}
	}
	if a, b := chart.Short(names[0], chart.MostName), chart.Sanitize(run).Results[1].Lock.Name; a == b {
		t.Errorf("two locks are called %q", a)
	}
}

package judge

import (
	"errors"
	"math"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

func TestLockTables(t *testing.T) {
	const rounds = 10
	run := madeRun(rates{"mine": spreadAround(1e6, 0.3, rounds), "odd": spreadAround(5e5, 0.01, rounds)})
	for _, r := range run.Results[:len(run.Results):len(run.Results)] {
		if r.Lock.Name == "mine" { // both share the noise of the round
			slow := madeResult("slow", r.Round, float64(r.Ops)*0.5)
			r.CPU.Time, slow.CPU.Time = 1e9, 1e9
			run.Results = append(run.Results, slow)
		} else if r.Round == 3 {
			r.Violations = []oracle.Violation{{Rule: "liveness", Count: 1}}
		}
	}
	for _, c := range []struct {
		metrics []*result.Metric
		want    float64
	}{{nil, 0.5}, {[]*result.Metric{result.CPU}, 2}} {
		run.Baseline = "mine"
		ts, err := LockTables(run, c.metrics)
		if err != nil || len(ts) != 1 || len(ts[0].Rows) != 3 || ts[0].Baseline != "mine" || ts[0].Rows[2].Violated != 1 {
			t.Fatalf("%+v, %v, want a table of two locks and one that broke a promise", ts, err)
		}
		for _, r := range ts[0].Rows {
			if x := r.Ratios[0]; r.Lock == "slow" && (x.Reading != Slower || math.Abs(x.Median-c.want) > 1e-5 || math.Abs(x.Lo-c.want) > 1e-5) {
				t.Errorf("slow is %+v, want %vx and worse", x, c.want)
			}
		}
	}
	for _, run.Baseline = range []string{"other", "odd"} {
		if _, err := LockTables(run, nil); !errors.Is(err, harness.ErrUsage) {
			t.Errorf("%s: %v, want ErrUsage", run.Baseline, err)
		}
	}
}

func TestOpenLoops(t *testing.T) {
	run := madeRun(rates{"sync-mutex": spreadAround(1e6, 0.01, 10), "mcs": spreadAround(5e5, 0.01, 10)})
	for _, r := range run.Results {
		r.Workload.Rate, r.Open = 1e6, &result.OpenLoop{Offered: 1e6, Span: r.Elapsed}
	}
	ts := Tables(run, "")
	if len(ts) != 1 || ts[0].Columns[0].Metric != "goodput" || math.Abs(ts[0].Columns[0].Rate.Value-100) > 2 || math.Abs(ts[0].Rows[1].Ratios[0].Median-0.5) > 0.02 {
		t.Errorf("%+v, want the granted shares", ts)
	}
	run.Results = append(run.Results, madeRun(rates{"mcs": spreadAround(5e5, 0.01, 10)}).Results...)
	if ts := Tables(run, ""); len(ts) != 1 || ts[0].Columns[0].Metric != "throughput" {
		t.Errorf("%+v, want only the closed loop", ts)
	}
}

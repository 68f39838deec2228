package judge

import (
	"errors"
	"math"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/stat"
)

func TestLocks(t *testing.T) {
	const rounds = 10
	run := madeRun(rates{"mine": spreadAround(1e6, 0.3, rounds), "slow": nil, "fast": nil, "odd": spreadAround(5e5, 0.01, rounds)})
	for _, r := range run.Results[:len(run.Results):len(run.Results)] {
		if r.Lock.Name == "mine" { // all locks of a round share its noise
			rate := float64(r.Ops)
			run.Results = append(run.Results, madeResult("slow", r.Round, rate*0.5), madeResult("fast", r.Round, rate*(2+0.01*float64(r.Round))))
		}
	}
	for _, r := range run.Results {
		if r.Lock.Name == "odd" && r.Round == 3 {
			r.Violations = []oracle.Violation{{Rule: "liveness", Detail: "a worker waited for ever", Count: 1}}
		}
	}
	c, err := CompareLocks(run, "mine", CompareOptions{})
	requireNoError(t, err)
	if !c.Paired || len(c.Rows) != 3 {
		t.Fatalf("paired is %v, with %d rows: %+v", c.Paired, len(c.Rows), c.Rows)
	}
	got := make(map[string]HistorySeries)
	for _, r := range c.Rows {
		got[r.Lock.Name] = r
	}
	if r := got["slow"]; r.Verdict != Lesser || math.Abs(r.Points[1].Before.Median-0.5) > 1e-5 || math.Abs(r.Points[1].Before.Lo-0.5) > 1e-5 {
		t.Errorf("slow: %v, ratio %+v", r.Verdict, r.Points[1].Before)
	}
	var base, next []float64
	for _, r := range run.Results {
		switch r.Lock.Name {
		case "mine":
			base = append(base, float64(r.Ops))
		case "fast":
			next = append(next, float64(r.Ops))
		}
	}
	if want := stat.Paired(next, base, c.Level).Summary; got["fast"].Verdict != Better || got["fast"].Points[1].Before.Summary != want {
		t.Errorf("fast: %v, ratio %+v, want %+v", got["fast"].Verdict, got["fast"].Points[1].Before, want)
	}
	if r := got["odd"]; r.Verdict != Unsafe || !r.Points[1].Broke || r.Points[1].Before.N != 0 {
		t.Errorf("a lock that broke a promise is compared: %v, %+v", r.Verdict, r.Points[1].Before)
	}
	ts := c.Tables()
	if len(ts) != 1 || ts[0].Baseline != "mine" || len(ts[0].Rows) != 3 {
		t.Fatalf("%+v, want one table of three locks compared with mine", ts)
	}
	if _, err := CompareLocks(run, "other", CompareOptions{}); !errors.Is(err, harness.ErrUsage) {
		t.Errorf("a lock that was not measured: %v, want ErrUsage", err)
	}
}

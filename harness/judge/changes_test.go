package judge

import (
	"testing"
	"time"

	"locklab/harness/result"
)

// TestHistoryTables: the table has each run of each case, with steps, outliers and the level.
func TestHistoryTables(t *testing.T) {
	xs := append(scatterRates(1e6, 6), scatterRates(0.8e6, 6)...)
	xs[9] = 0.4e6
	ts := historyOf(t, append(days("a", xs...), days("b", 1e6, 1e6)...), HistoryOptions{}).Tables()
	if len(ts) != 2 || ts[0].Machine != "a" || ts[1].Machine != "b" || len(ts[0].Columns) != 12 || len(ts[1].Columns) != 2 || ts[0].Detail != noDetail {
		t.Fatalf("%+v, want 12 runs of a and 2 of b", ts)
	}
	row := ts[0].Rows[1]
	if row.Lock != "mcs" || row.Case.Workers != 1 || row.Case.Verdict != Regressed || !row.Case.Notable || ts[0].Rows[0].Case.Notable {
		t.Fatalf("%+v, want a notable regression of mcs alone", row.Case)
	}
	if l := row.Case.Level; l.N != 6 || l.Lo < 0.75e6 || l.Hi > 0.85e6 {
		t.Errorf("level %+v, want 6 runs near 0.8 M/s; the outlier is neither the least nor the most", l)
	}
	for i, run := range row.Case.Runs {
		if (run.Change != nil) != (i == 6) || (run.Off == OffWorse) != (i == 9) || run.Figure.N != 8 || (row.Ratios[i] == nil) != (i == 0) {
			t.Errorf("run %d: %+v, %+v", i+1, run, row.Ratios[i])
		}
	}
	if c := row.Case.Runs[6].Change; c.Verdict != Regressed || c.Ratio.Reading != Slower || c.Ratio.P > 0.05 {
		t.Errorf("%+v, %+v", c, c.Ratio)
	}
}

func TestDirection(t *testing.T) {
	base, next := madeRun(rates{"x": spreadAround(1e6, 0.02, 10)}), madeRun(rates{"x": spreadAround(0.8e6, 0.02, 10)})
	for _, run := range []*result.Run{base, next} {
		for _, r := range run.Results {
			r.CPU.Time = time.Second
		}
	}
	c, err := Compare(base, next, CompareOptions{Metrics: []*result.Metric{result.Throughput, result.CPU}})
	requireNoError(t, err)
	ts := c.Tables()
	if len(ts) != 2 || ts[0].Baseline != "BASE" {
		t.Fatalf("%+v, want a table for each metric", ts)
	}
	for i, want := range []struct{ lo, hi float64 }{{0.7, 0.9}, {1.1, 1.4}} {
		if r := ts[i].Rows[0].Ratios[1]; r.Reading != Slower || r.Lo < want.lo || r.Hi > want.hi || r.P != c.Rows[i].Points[1].Before.P {
			t.Errorf("%s: %+v", ts[i].Columns[0].Metric, r)
		}
	}
}

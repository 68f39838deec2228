package judge

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

func slowingRuns() (runs []*result.Run) {
	for i, x := range scatterRates(1e6, 18) {
		if i >= 6 {
			x /= 2
		}
		locks := map[string]float64{"mutex": x, "even": 2 * x, "worse": 4 * x}
		if i >= 9 {
			locks["worse"] = 3.2 * x
		}
		runs = append(runs, day("a", i+1, locks))
	}
	return runs
}

func TestRelative(t *testing.T) {
	h := historyOf(t, slowingRuns(), HistoryOptions{})
	if s := h.of(t, "a", "even"); s.Verdict != Regressed || s.Changes[0].At != 6 {
		t.Fatalf("without a reference even is %s, %+v; want the machine's step", s.Verdict, s.Changes)
	}
	h = historyOf(t, slowingRuns(), HistoryOptions{To: []string{"absent", "mutex"}})
	if s := h.of(t, "a", "even"); s.Verdict != Steady || math.Abs(s.Points[17].Median-2) > 0.05 {
		t.Errorf("even is %s at %v, want steady at twice the reference", s.Verdict, s.Points[17].Median)
	}
	if s := h.of(t, "a", "worse"); s.Verdict != Regressed || len(s.Changes) != 1 || s.Changes[0].At != 9 {
		t.Errorf("worse is %s, %+v; want one change at 9", s.Verdict, s.Changes)
	}
	if slices.ContainsFunc(h.Series, func(s HistorySeries) bool { return s.Lock.Name == "mutex" }) {
		t.Error("the reference is set against itself")
	}
	for _, table := range h.Tables() {
		if c := table.Columns[0]; c.Metric != "throughput to absent, mutex" || c.Unit != "ratio" {
			t.Errorf("the figures are %s in %s, want ratios", c.Metric, c.Unit)
		}
	}
}

// TestRelativeWithout checks that a round without a valid reference has no figure and a
// reason, and that local locks have no distributed reference.
func TestRelativeWithout(t *testing.T) {
	runs := slowingRuns()
	without := func(run *result.Run, lock string) {
		run.Results = slices.DeleteFunc(run.Results, func(r *result.Result) bool { return r.Lock.Name == lock })
	}
	without(runs[3], "mutex")
	for _, r := range runs[4].Results {
		if r.Lock.Name == "mutex" && r.Round == 2 {
			r.Violations = []oracle.Violation{{Rule: "exclusion", Count: 1}}
		}
	}
	h := historyOf(t, runs, HistoryOptions{To: []string{"mutex"}})
	for _, i := range []int{3, 4} {
		if p := h.of(t, "a", "even").Points[i]; p.N != 0 || !p.Missing || !strings.Contains(p.Gap, "no figure of a lock to compare it with") {
			t.Errorf("run %d: %+v, want no figure", i+1, p)
		}
	}
	for _, run := range runs {
		for _, r := range run.Results {
			if r.Lock.Name == "mutex" {
				r.Lock.Traits.Needs = harness.KindRedis
			}
		}
	}
	for _, to := range []string{"mutex", "none"} {
		if _, err := NewHistory(runs, HistoryOptions{To: []string{to}}); !errors.Is(err, harness.ErrUsage) || !strings.Contains(err.Error(), "no run has a round of "+to) {
			t.Errorf("%s: %v, want a usage error", to, err)
		}
	}
}

package judge

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/require"
)

func wholeRun(locks rates) *result.Run {
	run := madeRun(locks)
	run.Manifest.Rounds, run.Manifest.Cases = 10, len(locks)
	return run
}

func removeResults(run *result.Run, lost func(*result.Result) bool) {
	run.Results = slices.DeleteFunc(run.Results, lost)
}

func TestGaps(t *testing.T) {
	xs, slow := spreadAround(1e6, 0.02, 10), spreadAround(0.9e6, 0.02, 10)
	is := func(name string) func(*result.Result) bool {
		return func(r *result.Result) bool { return r.Lock.Name == name }
	}
	late := func(r *result.Result) bool { return r.Lock.Name == "y" && r.Round > 6 }
	loss := func(lock string, round int) result.Loss {
		return result.Loss{Case: "lock=" + lock + "/workers=1/hold=0s", Round: round, Reason: "signal: killed"}
	}
	for _, c := range []struct {
		name    string
		new     rates // default x and y as in BASE
		edit    func(base, next *result.Run)
		locks   string // the only lock to compare
		outcome Outcome
		said    string
	}{
		{"whole", nil, func(_, _ *result.Run) {}, "", Fine, "y not worse"},
		{"not planned", rates{"x": xs}, func(_, _ *result.Run) {}, "", Fine, "y only in BASE"},
		{"added", nil, func(b, _ *result.Run) { removeResults(b, is("y")); b.Manifest.Cases = 1 }, "", Fine, "y only in NEW"},
		{"skipped", rates{"x": xs}, func(_, n *result.Run) { n.Manifest.Skipped = []result.Skip{{Lock: "y", Reason: "no server"}} }, "", Unsure, "y not measured: NEW skipped it: no server"},
		{"interrupted", rates{"x": xs}, func(_, n *result.Run) { n.Manifest.Interrupted = true }, "", Unsure, "y not measured: NEW ended before it"},
		{"killed", rates{"x": xs}, func(_, n *result.Run) { n.Manifest.Finished = time.Time{} }, "", Unsure, "y not measured: NEW ended before it"},
		{"lost in every round", nil, func(_, n *result.Run) { removeResults(n, is("y")) }, "", Unsure, "y not measured"},
		{"lost by name", nil, func(_, n *result.Run) {
			removeResults(n, is("y"))
			n.Manifest.Lost = []result.Loss{loss("y", 0), loss("y", 1)}
		}, "", Unsure, "NEW lost it: signal: killed"},
		{"all lost", nil, func(_, n *result.Run) { n.Results = nil }, "", Unsure, "x not measured"},
		{"all of BASE lost", nil, func(b, _ *result.Run) { b.Results = nil }, "", Unsure, "x not measured"},
		{"all lost in both, by name", nil, func(b, n *result.Run) {
			for _, run := range []*result.Run{b, n} {
				run.Results = nil
				run.Manifest.Lost = []result.Loss{loss("x", 0), loss("y", 0)}
			}
		}, "", Unsure, "lock=y/workers=1/hold=0s, which NEW lost: signal: killed"},
		{"lost in some rounds", nil, func(_, n *result.Run) { removeResults(n, late) }, "", Unsure, "NEW has 7 of its 10 rounds"},
		{"lost in one round, by name", nil, func(_, n *result.Run) {
			removeResults(n, func(r *result.Result) bool { return r.Lock.Name == "y" && r.Round == 3 })
			n.Manifest.Lost = []result.Loss{loss("y", 3)}
		}, "", Unsure, "NEW has 9 of its 10 rounds; round 4 was lost: signal: killed"},
		{"a round measured twice stands for one", nil, func(_, n *result.Run) {
			for _, r := range n.Results {
				if r.Round == 3 {
					r.Round = 4
				}
			}
		}, "", Unsure, "NEW has 9 of its 10 rounds"},
		{"lost, but another regressed", rates{"x": slow, "y": xs}, func(_, n *result.Run) { removeResults(n, is("y")) }, "", Worse, "x regressed"},
		{"regressed in what is left", rates{"x": xs, "y": slow}, func(_, n *result.Run) { removeResults(n, late) }, "", Worse, "NEW has 7 of its 10 rounds"},
		{"lost, and not compared", nil, func(_, n *result.Run) { removeResults(n, is("y")) }, "x", Fine, "x not worse"},
		{"lost in BASE", nil, func(b, _ *result.Run) { removeResults(b, is("y")) }, "", Unsure, "BASE has results of 1 of its 2 cases"},
		{"lost in some rounds of BASE", nil, func(b, _ *result.Run) { removeResults(b, late) }, "", Unsure, "BASE has 7 of its 10 rounds"},
		{"lost in both", nil, func(b, n *result.Run) { removeResults(b, is("y")); removeResults(n, is("y")) }, "", Unsure, "1 of the 2 cases that NEW was to measure"},
		{"lost in both, by name", nil, func(b, n *result.Run) {
			removeResults(b, is("y"))
			removeResults(n, is("y"))
			n.Manifest.Lost = []result.Loss{loss("y", 0)}
		}, "", Unsure, "lock=y/workers=1/hold=0s, which NEW lost: signal: killed"},
		{"lost in both, by name, and not compared", nil, func(b, n *result.Run) {
			for _, run := range []*result.Run{b, n} {
				removeResults(run, is("y"))
				run.Manifest.Lost = []result.Loss{loss("y", 0)}
			}
		}, "x", Fine, "x not worse"},
		{"no round in common", nil, func(b, n *result.Run) {
			removeResults(b, func(r *result.Result) bool { return r.Lock.Name == "y" && r.Round%2 == 0 })
			removeResults(n, func(r *result.Result) bool { return r.Lock.Name == "y" && r.Round%2 == 1 })
		}, "", Unsure, "NEW has 5 of its 10 rounds"},
		{"a damaged line in NEW", nil, func(_, n *result.Run) { n.Damage = []string{"line 3"} }, "", Unsure, "1 line of NEW that cannot be read"},
		{"a damaged line in BASE", nil, func(b, _ *result.Run) { b.Damage = []string{"line 3", "line 4"} }, "", Unsure, "2 lines of BASE"},
		{"a damaged line for a round", nil, func(_, n *result.Run) {
			removeResults(n, func(r *result.Result) bool { return r.Lock.Name == "y" && r.Round == 3 })
			n.Damage = []string{"line 3"}
		}, "", Unsure, "NEW has 9 of its 10 rounds; 1 line of its file cannot be read"},
	} {
		for _, paired := range []bool{false, true} {
			if c.new == nil {
				c.new = rates{"x": xs, "y": xs}
			}
			base, next := wholeRun(rates{"x": xs, "y": xs}), wholeRun(c.new)
			if paired {
				base.Manifest.Pair, next.Manifest.Pair = "p", "p"
			}
			c.edit(base, next)
			var o CompareOptions
			if c.locks != "" {
				o.Locks = func(l result.Lock) bool { return l.Name == c.locks }
			}
			got, err := Compare(base, next, o)
			if err != nil {
				t.Fatalf("%s: %v", c.name, err)
			}
			rows := result.Each(got.Rows, func(r HistorySeries) string { return fmt.Sprintf("%s %s: %s", r.Lock.Name, r.Verdict, r.Note()) })
			if said := strings.Join(append(rows, got.Gaps...), "\n"); got.Outcome() != c.outcome || !strings.Contains(said, c.said) {
				t.Errorf("%s, paired %v: %s, want %s and %q in\n%s", c.name, paired, got.Outcome(), c.outcome, c.said, said)
			}
		}
	}
}

func TestOpenGaps(t *testing.T) {
	run := &result.Run{Manifest: result.Manifest{Rounds: 10, Cases: 2, OpenEvery: 3}}
	add := func(load harness.Workload, rounds ...int) {
		for _, i := range rounds {
			run.Results = append(run.Results, &result.Result{Lock: result.Lock{Name: "x"}, Workload: load, Round: i})
		}
	}
	closed, open := harness.Workload{Workers: 1, Window: 1}, harness.Workload{Workers: 1, Window: 1, Rate: 1000}
	add(closed, 0, 1, 2, 3, 4, 5, 6, 7, 8)
	add(open, 0, 3, 6)
	for load, want := range map[harness.Workload]string{closed: "NEW has 9 of its 10 rounds", open: "NEW has 3 of its 4 rounds"} {
		require.Equal(t, load.Name(), planOf("NEW", run).lacks(caseName("x", load)), want)
	}
	add(open, 9)
	require.Equal(t, "the open loop, which is whole", planOf("NEW", run).lacks(caseName("x", open)), "")
}

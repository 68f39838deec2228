package result_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/require"
)

func madeFault(edits ...func(*result.FaultResult)) *result.FaultResult {
	r := &result.FaultResult{
		Scenario: "holder-pause", Question: "What if a holder pauses?", Tries: 200,
		Lock:     result.Lock{Name: "a", Traits: harness.Traits{Needs: harness.KindRedis, Fenced: true, FIFO: true}},
		Expected: result.Expectation{Why: "the lease ends"},
	}
	for _, e := range edits {
		e(r)
	}
	return r
}

func expectAnomalies(hs ...oracle.Anomaly) func(*result.FaultResult) {
	return func(r *result.FaultResult) { r.Expected.Anomalies = hs }
}

func addAnomaly(h oracle.Anomaly, n int) func(*result.FaultResult) {
	return func(r *result.FaultResult) {
		if r.Seen == nil {
			r.Seen = make(map[oracle.Anomaly]int)
		}
		r.Seen[h] = n
	}
}

func setScenario(scenario string, gs ...result.Guarantee) func(*result.FaultResult) {
	return func(r *result.FaultResult) { r.Scenario, r.Tests = scenario, gs }
}

func addTogether(n int, hs ...oracle.Anomaly) func(*result.FaultResult) {
	return func(r *result.FaultResult) {
		r.Together = append(r.Together, result.Together{Anomalies: hs, Tries: n})
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name              string
		r                 *result.FaultResult
		verdict           result.FaultVerdict
		violations, bound float64
		reading           string // part of it
	}{
		{"safe, nothing seen", madeFault(), result.Confirmed, 0, 0.01486686, "no anomaly in 200 tries, at most 1.5\u00a0% of them: the lease ends"},
		{"safe, anomaly seen", madeFault(addAnomaly(oracle.TwoHolders, 1)), result.Unexpected, 5, 0.02349847, "two holders in 1 of 200 tries, but no anomaly was expected"},
		{"safe, stall seen", madeFault(addAnomaly(oracle.Stall, 1)), result.Unexpected, 0, 0.01486686, "stall in 1 of 200 tries"},
		{"expected and seen", madeFault(expectAnomalies(oracle.TwoHolders, oracle.TokenFell), addAnomaly(oracle.TwoHolders, 200)), result.Confirmed, 1000, 1, "two holders in 200 of 200 tries, as expected"},
		{"expected, not seen", madeFault(expectAnomalies(oracle.TwoHolders)), result.NotShown, 0, 0.01486686, "two holders not shown in 200 tries, at most 1.5\u00a0% of them"},
		{"another than expected", madeFault(expectAnomalies(oracle.TwoHolders), addAnomaly(oracle.TwoHolders, 3), addAnomaly(oracle.Stuck, 1)), result.Unexpected, 15, 0.0383, "only two holders was expected"},
		{"nothing known", madeFault(func(r *result.FaultResult) { r.Expected.Why = "" }, addAnomaly(oracle.Stuck, 1)), result.Observed, 0, 0.01486686, "no expected result"},
		{"skipped", madeFault(func(r *result.FaultResult) { r.Tries, r.Skipped = 0, "no replica" }), result.NotTested, math.NaN(), 1, "not tested: no replica"},
		{"no try", madeFault(func(r *result.FaultResult) { r.Tries, r.Failed = 0, 3 }), result.NotTested, math.NaN(), 1, "could not be made in 3 tries"},
		{"one anomaly and another", madeFault(expectAnomalies(result.UnsafeAnomalies...), addAnomaly(oracle.StaleWrite, 3), addAnomaly(oracle.TokenFell, 2)), result.Confirmed, 15, 0.0519, "stale write in 3 and token fell in 2 of 200 tries"},
		{"one anomaly and another, in which tries", madeFault(expectAnomalies(result.UnsafeAnomalies...), addAnomaly(oracle.StaleWrite, 3), addAnomaly(oracle.TokenFell, 2), addTogether(1, oracle.StaleWrite, oracle.TokenFell), addTogether(2, oracle.StaleWrite), addTogether(1, oracle.TokenFell)), result.Confirmed, 20, 0.04526, "stale write in 3 and token fell in 2 of 200 tries"},
		{"always together, and once with another", madeFault(expectAnomalies(result.UnsafeAnomalies...), addAnomaly(oracle.StaleWrite, 3), addAnomaly(oracle.TokenFell, 3), addTogether(2, oracle.StaleWrite, oracle.TokenFell), addTogether(1, oracle.StaleWrite, oracle.TokenFell, oracle.Stall)), result.Confirmed, 15, 0.0383, "stale write in 3 and token fell in 3 of 200 tries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := result.JudgeFault(c.r)
			require.Equal(t, "the verdict", row.Verdict, c.verdict)
			if row.Violations != c.violations && !(math.IsNaN(row.Violations) && math.IsNaN(c.violations)) {
				t.Errorf("%v violations in 1000, want %v", row.Violations, c.violations)
			}
			if math.Abs(row.Bound-c.bound) > 1e-4 {
				t.Errorf("bound %v, want %v", row.Bound, c.bound)
			}
			if got := row.Reading(); !strings.Contains(got, c.reading) {
				t.Errorf("reads %q, want %q in it", got, c.reading)
			}
			require.Equal(t, "the violations are a lower bound", row.AtLeast, c.name == "one anomaly and another")
		})
	}
}

func TestWindowsAndAims(t *testing.T) {
	aims := []result.FaultAim{
		{Figure: "window", Quantile: 0.5, Limit: 30}, {Figure: "window", Quantile: 1, Limit: 30},
		{Figure: "notice", Quantile: 0, Limit: 0, Least: true}, {Figure: "requests", Quantile: 0.5, Limit: 5}, {Figure: "nothing", Quantile: 1, Limit: 1},
	}
	met := func(rows []result.Aim) (out []string) {
		for _, a := range rows {
			switch {
			case !a.Known():
				out = append(out, "?")
			case a.Met:
				out = append(out, "met")
			default:
				out = append(out, "missed")
			}
		}
		return out
	}
	r := madeFault(func(r *result.FaultResult) {
		r.Window, r.Notice, r.Aims = []int64{30, 10, 20, 40}, []int64{5, 3, 9}, aims
		r.Figures = []result.FaultFigure{{Name: "requests", Values: []float64{6, 4, math.NaN(), 5}}}
	})
	row := result.JudgeFault(r)
	if w := row.Window; w.N != 4 || w.Median != 20 || w.Least != 10 || w.Most != 40 {
		t.Errorf("windows %+v", w)
	}
	if got := met(row.Aims); !slices.Equal(got, []string{"met", "missed", "met", "met", "?"}) {
		t.Errorf("aims %v", got)
	}
	// A try that got stuck has an infinite window; a holder notified too late misses its aim.
	r.Seen, r.Notice = map[oracle.Anomaly]int{oracle.Stuck: 5}, []int64{5, -1}
	row = result.JudgeFault(r)
	if w := row.Window; w.N != 9 || !math.IsInf(w.Median, 1) || !math.IsInf(w.Most, 1) {
		t.Errorf("with 5 that got stuck, windows %+v", w)
	}
	if got := met(row.Aims); !slices.Equal(got, []string{"missed", "missed", "missed", "met", "?"}) {
		t.Errorf("with 5 that got stuck, aims %v", got)
	}
	if r.Published.Seen = r.Seen; result.JudgeFault(r).Window.N != 4 {
		t.Error("stuck tries of the campaign count as windows, although its other tries have none")
	}
	if r := madeFault(); result.JudgeFault(r).Window.N != 0 || result.JudgeFault(r).Aims != nil {
		t.Error("no windows, but some times of them")
	}
}

func TestGuarantees(t *testing.T) {
	rs := []*result.FaultResult{
		madeFault(setScenario("leader-kill", result.Failover, result.Recovery)),
		madeFault(setScenario("holder-pause", result.Fencing), expectAnomalies(oracle.TwoHolders), addAnomaly(oracle.TwoHolders, 7)), // forbidden by failover only
		madeFault(setScenario("order", result.Ordered), addAnomaly(oracle.Overtaken, 1)),
		madeFault(setScenario("other", result.Recovery), func(r *result.FaultResult) { r.Lock.Name = "b" }, addAnomaly(oracle.Stuck, 1)),
	}
	got := result.GuaranteesOf(rs, "a")
	for g, want := range map[result.Guarantee]result.GuaranteeState{
		result.Failover: result.Held, result.Fencing: result.Held, result.Ordered: result.Broken, result.Recovery: result.Held,
	} {
		require.Equal(t, g, got[g].State, want)
	}
	require.Equal(t, "order", got[result.Ordered].String(), "broken by order (overtaken)")
	check := func(what string, g result.Guarantee, want result.GuaranteeState, scenario string, rs ...*result.FaultResult) {
		t.Helper()
		s := result.GuaranteesOf(rs, "a")[g]
		if s.State != want || !slices.Contains(append(s.Scenarios, ""), scenario) {
			t.Errorf("%s: %+v, want %q by %q", what, s, want, scenario)
		}
	}
	skipped := madeFault(setScenario("isolated", result.Failover), func(r *result.FaultResult) { r.Tries, r.Skipped = 0, "no ensemble" })
	untried := madeFault(setScenario("isolated", result.Failover), func(r *result.FaultResult) { r.Tries = 0 })
	stuck := madeFault(setScenario("leader-stop", result.Failover), addAnomaly(oracle.Stuck, 1))
	check("one was skipped", result.Failover, result.Untested, "isolated", rs[0], skipped)
	check("one was not tried", result.Failover, result.Untested, "isolated", rs[0], untried)
	check("skipped, and tried in another run", result.Failover, result.Held, "isolated", skipped, madeFault(setScenario("isolated", result.Failover)))
	check("broken is broken, whatever was skipped", result.Failover, result.Broken, "leader-stop", rs[0], skipped, stuck)
	check("seen in the other of two runs", result.Failover, result.Broken, "leader-stop", madeFault(setScenario("leader-stop", result.Failover)), stuck)
	check("nothing tests it", result.Ordered, result.Untested, "", rs[0])
	bare := func(r *result.FaultResult) { r.Lock.Traits = harness.Traits{} }
	check("no tokens to fall", result.Fencing, result.Unmade, "holder-pause", madeFault(setScenario("holder-pause", result.Fencing), bare))
	check("no tokens, and a stale write", result.Fencing, result.Broken, "holder-pause", madeFault(setScenario("holder-pause", result.Fencing), bare, addAnomaly(oracle.StaleWrite, 1)))
	check("no order claimed", result.Ordered, result.Unmade, "order", madeFault(setScenario("order", result.Ordered), bare))
	maybe := madeFault(setScenario("promotion", result.Failover), expectAnomalies(oracle.TwoHolders, oracle.Stall))
	check("possible, and not seen", result.Failover, result.Open, "promotion", rs[0], maybe)
	check("possible, and seen elsewhere", result.Failover, result.Broken, "leader-stop", maybe, stuck)
	check("what is possible breaks nothing", result.Failover, result.Held, "leader-kill", rs[0], madeFault(setScenario("slow", result.Failover), expectAnomalies(oracle.Stall)))
	if c := result.ClassOf([]*result.FaultResult{rs[1], maybe}, "a"); c.Strength >= result.Tolerant || !strings.Contains(c.Sentence, "but no try showed that") {
		t.Errorf("a failover that may give the lock away twice makes it %+v", c)
	}
	if stuck.Tries != 200 || skipped.Skipped == "" {
		t.Error("the results were changed")
	}
}

func TestClass(t *testing.T) {
	failover := func(edits ...func(*result.FaultResult)) *result.FaultResult {
		return madeFault(append([]func(*result.FaultResult){setScenario("failover", result.Failover, result.Fencing)}, edits...)...)
	}
	pause := func(edits ...func(*result.FaultResult)) *result.FaultResult {
		return madeFault(append([]func(*result.FaultResult){setScenario("holder-pause", result.Fencing)}, edits...)...)
	}
	crash := func(edits ...func(*result.FaultResult)) *result.FaultResult {
		return madeFault(append([]func(*result.FaultResult){setScenario("holder-crash", result.Recovery)}, edits...)...)
	}
	bare := func(r *result.FaultResult) { r.Lock.Traits.Fenced = false }
	zk := func(r *result.FaultResult) { r.Lock.Traits.Needs = harness.KindZooKeeper }
	for _, c := range []struct {
		rs              []*result.FaultResult
		strength        result.Strength
		sentence, where string
	}{
		{nil, result.Unknown, "not tested for failures", "untested failures do no harm"},
		{[]*result.FaultResult{pause(func(r *result.FaultResult) { r.Tries = 0 })}, result.Unknown, "not tested for failures", "untested failures do no harm"},
		{[]*result.FaultResult{failover(zk), pause(zk)}, result.Strong,
			"tolerates the loss of a server without two holders, and tokens refuse a paused holder", ""},
		{[]*result.FaultResult{failover(bare), pause(bare, addAnomaly(oracle.StaleWrite, 3))}, result.Tolerant,
			"tolerates the loss of a server without two holders; no fencing: a paused holder may still write", "a late write of a paused holder does no harm"},
		{[]*result.FaultResult{failover(addAnomaly(oracle.TwoHolders, 9)), pause()}, result.Fenced,
			"one server: a failover may give it away twice, tokens still rise", "one server is enough and the resource checks tokens"},
		{[]*result.FaultResult{failover(addAnomaly(oracle.TwoHolders, 9), addAnomaly(oracle.TokenFell, 9)), pause()}, result.Guarded,
			"one server: a failover may give it away twice; tokens refuse a paused holder, but may repeat after a failover", "one server without a replica is enough and the resource checks tokens"},
		{[]*result.FaultResult{failover(bare, addAnomaly(oracle.TwoHolders, 9)), pause(bare, addAnomaly(oracle.StaleWrite, 9))}, result.Weak,
			"no fencing: a failover or a pause may let two write", "one server is enough and a late write of a paused holder does no harm"},
		{[]*result.FaultResult{failover(), pause(addAnomaly(oracle.StaleWrite, 1))}, result.Tolerant,
			"tolerates the loss of a server without two holders; its tokens let a stale write pass", "a late write of a paused holder does no harm"},
		// An untested claim is no guarantee.
		{[]*result.FaultResult{crash()}, result.Weak,
			"its tokens were not tested; the loss of a server was not tested",
			"the untested loss of a server does no harm and the untested late write of a paused holder does no harm"},
		{[]*result.FaultResult{pause()}, result.Fenced,
			"tokens refuse a paused holder; the loss of a server was not tested", "the untested loss of a server does no harm and the resource checks tokens"},
		// A lock that does not become free again is weak, even if it is safe.
		{[]*result.FaultResult{failover(zk), pause(zk), crash(zk, addAnomaly(oracle.Stuck, 1))}, result.Weak,
			"tolerates the loss of a server without two holders, and tokens refuse a paused holder; it may stay taken for ever after its holder or a waiter has died",
			"the resource checks tokens and an operator can clean up after a crash"},
		{[]*result.FaultResult{failover(zk, addAnomaly(oracle.Stuck, 1)), pause(zk)}, result.Fenced,
			"the loss of a server may leave it stuck; tokens refuse a paused holder", "a lock that gets stuck can be freed by hand and the resource checks tokens"},
	} {
		got := result.ClassOf(c.rs, "a")
		if got.Strength != c.strength || got.Sentence != c.sentence || got.Where != c.where {
			t.Errorf("strength %d, %q, where %q\nwant     %d, %q, where %q", got.Strength, got.Sentence, got.Where, c.strength, c.sentence, c.where)
		}
	}
	c := result.ClassOf([]*result.FaultResult{failover(), pause(addAnomaly(oracle.StaleWrite, 1))}, "a")
	if why := c.Lacks(result.Fencing); why != "fencing broken by holder-pause (stale write)" || c.Lacks(result.Failover) != "" {
		t.Errorf("lacks fencing because %q", why)
	}
}

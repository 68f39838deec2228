package result_test

import (
	"math"
	"slices"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/result"
)

func madeFault(edits ...func(*harness.FaultResult)) *harness.FaultResult {
	r := &harness.FaultResult{
		Scenario: "holder-pause", Question: "What if a holder pauses?", Tries: 200,
		Lock:     harness.Lock{Name: "a", Traits: harness.Traits{Needs: harness.KindRedis, Fenced: true, FIFO: true}},
		Expected: harness.Expectation{Why: "the lease ends"},
	}
	for _, e := range edits {
		e(r)
	}
	return r
}

func expects(hs ...harness.Harm) func(*harness.FaultResult) {
	return func(r *harness.FaultResult) { r.Expected.Harms = hs }
}

func seen(h harness.Harm, n int) func(*harness.FaultResult) {
	return func(r *harness.FaultResult) {
		if r.Seen == nil {
			r.Seen = make(map[harness.Harm]int)
		}
		r.Seen[h] = n
	}
}

func of(scenario string, gs ...harness.Guarantee) func(*harness.FaultResult) {
	return func(r *harness.FaultResult) { r.Scenario, r.Tests = scenario, gs }
}

func together(n int, hs ...harness.Harm) func(*harness.FaultResult) {
	return func(r *harness.FaultResult) {
		r.Together = append(r.Together, harness.Together{Harms: hs, Tries: n})
	}
}

func TestJudge(t *testing.T) {
	for _, c := range []struct {
		name       string
		r          *harness.FaultResult
		verdict    result.SurvivalVerdict
		violations float64
		bound      float64
		reading    string // part of it
	}{
		{"safe, nothing seen", madeFault(), result.Confirmed, 0, 0.01486686, "no harm in 200 tries, at most 1.5\u00a0% of them: the lease ends"},
		{"safe, harm seen", madeFault(seen(harness.TwoHolders, 1)), result.Refuted, 5, 0.02349847, "two holders in 1 of 200 tries, where no harm was expected"},
		{"safe, stall seen", madeFault(seen(harness.Stall, 1)), result.Refuted, 0, 0.01486686, "stall in 1 of 200 tries"},
		{"expected and seen", madeFault(expects(harness.TwoHolders, harness.TokenFell), seen(harness.TwoHolders, 200)), result.Confirmed, 1000, 1, "two holders in 200 of 200 tries, as expected"},
		{"expected, not seen", madeFault(expects(harness.TwoHolders)), result.NotShown, 0, 0.01486686, "two holders not shown in 200 tries, at most 1.5\u00a0% of them"},
		{"another than expected", madeFault(expects(harness.TwoHolders), seen(harness.TwoHolders, 3), seen(harness.Stuck, 1)), result.Refuted, 15, 0.0383, "only two holders was expected"},
		{"nothing known", madeFault(func(r *harness.FaultResult) { r.Expected.Why = "" }, seen(harness.Stuck, 1)), result.Observed, 0, 0.01486686, "nothing was expected"},
		{"skipped", madeFault(func(r *harness.FaultResult) { r.Tries, r.Skipped = 0, "no replica" }), result.NotTested, math.NaN(), 1, "not tested: no replica"},
		{"no try", madeFault(func(r *harness.FaultResult) { r.Tries, r.Failed = 0, 3 }), result.NotTested, math.NaN(), 1, "could not be made in 3 tries"},
		{"one harm and another", madeFault(expects(result.UnsafeHarms...), seen(harness.StaleWrite, 3), seen(harness.TokenFell, 2)), result.Confirmed, 15, 0.0519, "stale write in 3 and token fell in 2 of 200 tries"},
		{"one harm and another, in which tries", madeFault(expects(result.UnsafeHarms...), seen(harness.StaleWrite, 3), seen(harness.TokenFell, 2), together(1, harness.StaleWrite, harness.TokenFell), together(2, harness.StaleWrite), together(1, harness.TokenFell)), result.Confirmed, 20, 0.04526, "stale write in 3 and token fell in 2 of 200 tries"},
		{"always together, and once with another", madeFault(expects(result.UnsafeHarms...), seen(harness.StaleWrite, 3), seen(harness.TokenFell, 3), together(2, harness.StaleWrite, harness.TokenFell), together(1, harness.StaleWrite, harness.TokenFell, harness.Stall)), result.Confirmed, 15, 0.0383, "stale write in 3 and token fell in 3 of 200 tries"},
	} {
		t.Run(c.name, func(t *testing.T) {
			row := result.JudgeFault(c.r)
			if row.Verdict != c.verdict {
				t.Errorf("%q, want %q", row.Verdict, c.verdict)
			}
			if row.Violations != c.violations && !(math.IsNaN(row.Violations) && math.IsNaN(c.violations)) {
				t.Errorf("%v violations in 1000, want %v", row.Violations, c.violations)
			}
			if math.Abs(row.Bound-c.bound) > 1e-4 {
				t.Errorf("bound %v, want %v", row.Bound, c.bound)
			}
			if got := row.Reading(); !strings.Contains(got, c.reading) {
				t.Errorf("reads %q, want %q in it", got, c.reading)
			}
			if want := c.name == "one harm and another"; row.AtLeast != want {
				t.Errorf("the violations are a lower bound: %v, want %v", row.AtLeast, want)
			}
		})
	}
}

func TestWindowsAndAims(t *testing.T) {
	aims := []harness.FaultAim{
		{Figure: "window", Quantile: 0.5, Limit: 30}, {Figure: "window", Quantile: 1, Limit: 30},
		{Figure: "margin", Quantile: 0, Limit: 0, Least: true}, {Figure: "requests", Quantile: 0.5, Limit: 5}, {Figure: "nothing", Quantile: 1, Limit: 1},
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
	r := madeFault(func(r *harness.FaultResult) {
		r.Window, r.Margin, r.Aims = []int64{30, 10, 20, 40}, []int64{5, 3, 9}, aims
		r.Figures = []harness.FaultFigure{{Name: "requests", Values: []float64{6, 4, math.NaN(), 5}}}
	})
	row := result.JudgeFault(r)
	if w := row.Window; w.N != 4 || w.Median != 20 || w.Least != 10 || w.Most != 40 {
		t.Errorf("windows %+v", w)
	}
	if got := met(row.Aims); !slices.Equal(got, []string{"met", "missed", "met", "met", "?"}) {
		t.Errorf("aims %v", got)
	}
	// A try that got stuck has an infinite window; a holder notified too late misses its aim.
	r.Seen, r.Margin = map[harness.Harm]int{harness.Stuck: 5}, []int64{5, -1}
	row = result.JudgeFault(r)
	if w := row.Window; w.N != 9 || !math.IsInf(w.Median, 1) || !math.IsInf(w.Most, 1) {
		t.Errorf("with 5 that got stuck, windows %+v", w)
	}
	if got := met(row.Aims); !slices.Equal(got, []string{"missed", "missed", "missed", "met", "?"}) {
		t.Errorf("with 5 that got stuck, aims %v", got)
	}
	if r := madeFault(); result.JudgeFault(r).Window.N != 0 || result.JudgeFault(r).Aims != nil {
		t.Error("no windows, but some times of them")
	}
}

func TestGuarantees(t *testing.T) {
	rs := []*harness.FaultResult{
		madeFault(of("leader-kill", harness.Failover, harness.Recovery)),
		madeFault(of("holder-pause", harness.Fencing), expects(harness.TwoHolders), seen(harness.TwoHolders, 7)), // forbidden by failover only
		madeFault(of("order", harness.Ordered), seen(harness.Overtaken, 1)),
		madeFault(of("other", harness.Recovery), func(r *harness.FaultResult) { r.Lock.Name = "b" }, seen(harness.Stuck, 1)),
	}
	got := result.Guarantees(rs, "a")
	for g, want := range map[harness.Guarantee]result.GuaranteeState{
		harness.Failover: result.Held, harness.Fencing: result.Held, harness.Ordered: result.Broken, harness.Recovery: result.Held,
	} {
		if got[g].State != want {
			t.Errorf("%s is %q, want %q", g, got[g].State, want)
		}
	}
	if s := got[harness.Ordered].String(); s != "broken by order (overtaken)" {
		t.Errorf("order reads %q", s)
	}
	check := func(what string, g harness.Guarantee, want result.GuaranteeState, scenario string, rs ...*harness.FaultResult) {
		t.Helper()
		s := result.Guarantees(rs, "a")[g]
		if s.State != want || !slices.Contains(append(s.Scenarios, ""), scenario) {
			t.Errorf("%s: %+v, want %q by %q", what, s, want, scenario)
		}
	}
	skipped := madeFault(of("isolated", harness.Failover), func(r *harness.FaultResult) { r.Tries, r.Skipped = 0, "no ensemble" })
	untried := madeFault(of("isolated", harness.Failover), func(r *harness.FaultResult) { r.Tries = 0 })
	stuck := madeFault(of("leader-stop", harness.Failover), seen(harness.Stuck, 1))
	check("one was skipped", harness.Failover, result.Untested, "isolated", rs[0], skipped)
	check("one was not tried", harness.Failover, result.Untested, "isolated", rs[0], untried)
	check("skipped, and tried in another run", harness.Failover, result.Held, "isolated", skipped, madeFault(of("isolated", harness.Failover)))
	check("broken is broken, whatever was skipped", harness.Failover, result.Broken, "leader-stop", rs[0], skipped, stuck)
	check("seen in the other of two runs", harness.Failover, result.Broken, "leader-stop", madeFault(of("leader-stop", harness.Failover)), stuck)
	check("nothing tests it", harness.Ordered, result.Untested, "", rs[0])
	bare := func(r *harness.FaultResult) { r.Lock.Traits = harness.Traits{} }
	check("no tokens to fall", harness.Fencing, result.Unmade, "holder-pause", madeFault(of("holder-pause", harness.Fencing), bare))
	check("no tokens, and a stale write", harness.Fencing, result.Broken, "holder-pause", madeFault(of("holder-pause", harness.Fencing), bare, seen(harness.StaleWrite, 1)))
	check("no order claimed", harness.Ordered, result.Unmade, "order", madeFault(of("order", harness.Ordered), bare))
	maybe := madeFault(of("promotion", harness.Failover), expects(harness.TwoHolders, harness.Stall))
	check("possible, and not seen", harness.Failover, result.Open, "promotion", rs[0], maybe)
	check("possible, and seen elsewhere", harness.Failover, result.Broken, "leader-stop", maybe, stuck)
	check("what is possible breaks nothing", harness.Failover, result.Held, "leader-kill", rs[0], madeFault(of("slow", harness.Failover), expects(harness.Stall)))
	if c := result.ClassOf([]*harness.FaultResult{rs[1], maybe}, "a"); c.Strength >= result.Survives || !strings.Contains(c.Sentence, "which no try showed") {
		t.Errorf("a failover that may give the lock away twice makes it %+v", c)
	}
	if stuck.Tries != 200 || skipped.Skipped == "" {
		t.Error("the results were changed")
	}
}

func TestClass(t *testing.T) {
	failover := func(edits ...func(*harness.FaultResult)) *harness.FaultResult {
		return madeFault(append([]func(*harness.FaultResult){of("failover", harness.Failover, harness.Fencing)}, edits...)...)
	}
	pause := func(edits ...func(*harness.FaultResult)) *harness.FaultResult {
		return madeFault(append([]func(*harness.FaultResult){of("holder-pause", harness.Fencing)}, edits...)...)
	}
	crash := func(edits ...func(*harness.FaultResult)) *harness.FaultResult {
		return madeFault(append([]func(*harness.FaultResult){of("holder-crash", harness.Recovery)}, edits...)...)
	}
	bare := func(r *harness.FaultResult) { r.Lock.Traits.Fenced = false }
	zk := func(r *harness.FaultResult) { r.Lock.Traits.Needs = harness.KindZooKeeper }
	for _, c := range []struct {
		rs       []*harness.FaultResult
		strength result.Strength
		sentence string
		where    string
	}{
		{nil, result.Unknown, "not tested", "failures that were not tested do no harm"},
		{[]*harness.FaultResult{pause(func(r *harness.FaultResult) { r.Tries = 0 })}, result.Unknown, "not tested", "failures that were not tested do no harm"},
		{[]*harness.FaultResult{failover(zk), pause(zk)}, result.Strong,
			"survives the loss of a server without two holders, and tokens refuse a paused holder", ""},
		{[]*harness.FaultResult{failover(bare), pause(bare, seen(harness.StaleWrite, 3))}, result.Survives,
			"survives the loss of a server without two holders; no fencing: a paused holder may still write", "a late write of a paused holder does no harm"},
		{[]*harness.FaultResult{failover(seen(harness.TwoHolders, 9)), pause()}, result.Fenced,
			"one server: a failover may give it away twice, tokens still rise", "one server is enough and the resource checks tokens"},
		{[]*harness.FaultResult{failover(seen(harness.TwoHolders, 9), seen(harness.TokenFell, 9)), pause()}, result.Guarded,
			"one server: a failover may give it away twice; tokens refuse a paused holder, but may repeat after a failover", "one server without a replica is enough and the resource checks tokens"},
		{[]*harness.FaultResult{failover(bare, seen(harness.TwoHolders, 9)), pause(bare, seen(harness.StaleWrite, 9))}, result.Weak,
			"no fencing: a failover or a pause may let two write", "one server is enough and a late write of a paused holder does no harm"},
		{[]*harness.FaultResult{failover(), pause(seen(harness.StaleWrite, 1))}, result.Survives,
			"survives the loss of a server without two holders; its tokens let a stale write pass", "a late write of a paused holder does no harm"},
		// An untested claim is no guarantee.
		{[]*harness.FaultResult{crash()}, result.Weak,
			"its tokens were not tested; the loss of a server was not tested",
			"the loss of a server, which was not tested, does no harm and a late write of a paused holder, which was not tested, does no harm"},
		{[]*harness.FaultResult{pause()}, result.Fenced,
			"tokens refuse a paused holder; the loss of a server was not tested", "the loss of a server, which was not tested, does no harm and the resource checks tokens"},
		// A lock that does not become free again is weak, even if it is safe.
		{[]*harness.FaultResult{failover(zk), pause(zk), crash(zk, seen(harness.Stuck, 1))}, result.Weak,
			"survives the loss of a server without two holders, and tokens refuse a paused holder; it may stay taken for ever after its holder or a waiter has died",
			"the resource checks tokens and an operator can clean up after a crash"},
		{[]*harness.FaultResult{failover(zk, seen(harness.Stuck, 1)), pause(zk)}, result.Fenced,
			"the loss of a server may leave it stuck; tokens refuse a paused holder", "a lock that gets stuck can be freed by hand and the resource checks tokens"},
	} {
		got := result.ClassOf(c.rs, "a")
		if got.Strength != c.strength || got.Sentence != c.sentence || got.Where != c.where {
			t.Errorf("strength %d, %q, where %q\nwant     %d, %q, where %q", got.Strength, got.Sentence, got.Where, c.strength, c.sentence, c.where)
		}
	}
	c := result.ClassOf([]*harness.FaultResult{failover(), pause(seen(harness.StaleWrite, 1))}, "a")
	if why := c.Lacks(harness.Fencing); why != "fencing broken by holder-pause (stale write)" || c.Lacks(harness.Failover) != "" {
		t.Errorf("lacks fencing because %q", why)
	}
}

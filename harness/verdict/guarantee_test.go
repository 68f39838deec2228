package verdict

import (
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
	"locklab/internal/synthetic"
)

// served is a run of distributed locks with what failure scenarios did to them.
func served(faults ...*harness.FaultResult) *resultfile.Run {
	model := func(name string, family harness.Family, kind string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, family, kind), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	run := synthetic.Run(5, 12, 2, []int{1, 8},
		model("redis-lock", harness.Redis, "redis", 2500), model("redis-queue", harness.Redis, "redis", 1900),
		model("zk-lock", harness.ZooKeeper, "zookeeper", 700), model("zk-handoff", harness.ZooKeeper, "zookeeper", 1100), synthetic.Fast("local", 1e6))
	run.Faults = faults
	return run
}

// edited returns the made-up faults with one result edited.
func edited(scenario, lock string, edit func(*harness.FaultResult)) []*harness.FaultResult {
	all := synthetic.Faults()
	for _, f := range all {
		if f.Scenario == scenario && f.Lock.Name == lock {
			edit(f)
		}
	}
	return all
}

func harm(h harness.Harm) func(*harness.FaultResult) {
	return func(f *harness.FaultResult) { f.Seen = map[harness.Harm]int{h: 1} }
}

// TestClasses: the lock to use is the fastest of the strongest class that was seen, and
// one harm more changes it.
func TestClasses(t *testing.T) {
	const strong = "survives the loss of a server without two holders, and tokens refuse a paused holder"
	for _, c := range []struct {
		name    string
		faults  []*harness.FaultResult
		use     string
		class   string
		instead string
		where   string // of the other choice
	}{
		{"nothing tested", nil, "redis-lock", NotTested, "", ""},
		{"all tested", synthetic.Faults(), "zk-handoff", strong, "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"two holders in one failover", edited("failover", "zk-handoff", harm(harness.TwoHolders)), "zk-lock", strong, "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"a stale write", edited("holder-pause", "zk-handoff", harm(harness.StaleWrite)), "zk-lock", strong, "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"a holder that died and a lock that stayed taken", edited("holder-crash", "zk-handoff", harm(harness.Stuck)), "zk-lock", strong, "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"not tried", edited("failover", "zk-handoff", func(f *harness.FaultResult) { f.Skipped = "no ensemble" }), "zk-lock", strong, "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"none survives", append(edited("failover", "zk-handoff", harm(harness.TwoHolders)), edited("failover", "zk-lock", harm(harness.TwoHolders))...), "redis-queue",
			"one server: a failover may give it away twice, tokens still rise", "redis-lock", "one server without a replica is enough and the resource checks tokens"},
		{"the fastest was not tested", synthetic.Faults()[4:], "zk-handoff", strong, "redis-lock", "failures that were not tested do no harm"},
		{"only the fastest was tested", synthetic.Faults()[:4], "redis-lock", "one server: a failover may give it away twice; tokens refuse a paused holder, but may repeat after a failover", "", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			vs := All(served(c.faults...))
			v := findVerdict(t, vs, "distributed, contended")
			if v.Use != c.use || v.Class != c.class {
				t.Errorf("use %q (%s), want %q (%s): %s", v.Use, v.Class, c.use, c.class, v.Why)
			}
			var instead Choice
			if v.Instead != nil {
				instead = *v.Instead
			}
			if instead.Lock != c.instead || instead.Where != c.where || (instead.Class == "") != (c.instead == "") {
				t.Errorf("else %+v, want %q where %q", instead, c.instead, c.where)
			}
			if (v.Within == "") != (c.instead == "") && c.name != "only the fastest was tested" {
				t.Errorf("chosen of %q", v.Within)
			}
			if ranked := v.Ranked(); len(ranked) != 4 {
				t.Errorf("compared %q, want every lock", ranked)
			}
			if l := findVerdict(t, vs, "more workers than CPUs"); l.Use != "local" || l.Class != "" || l.Instead != nil || l.Within != "" {
				t.Errorf("the local row says %+v", l)
			}
		})
	}
}

// TestRequire: what is required narrows the candidates to locks that were seen to have
// it; where none has, the row says why each was left out.
func TestRequire(t *testing.T) {
	for _, c := range []struct {
		faults  []*harness.FaultResult
		require []harness.Guarantee
		use     string
		why     string // part of Why where there is no verdict
		without string // a lock that is excluded
		reason  string // part of its reason
	}{
		{synthetic.Faults(), []harness.Guarantee{harness.Failover}, "zk-handoff", "", "redis-lock", "failover broken by failover (two holders)"},
		{edited("failover", "redis-queue", func(f *harness.FaultResult) { f.Seen, f.Expected.Harms = nil, nil }), []harness.Guarantee{harness.Failover}, "redis-queue", "", "redis-lock", "broken"},
		{synthetic.Faults(), []harness.Guarantee{harness.Recovery}, "zk-handoff", "", "", ""},
		{synthetic.Faults(), []harness.Guarantee{harness.Failover, harness.Ordered}, "", "no lock measured here was seen to have failover and order", "zk-handoff", "order not tested"},
		{nil, []harness.Guarantee{harness.Fencing}, "", "zk-lock: fencing not tested", "redis-queue", "fencing not tested"},
	} {
		run := served(c.faults...)
		run.Require = c.require
		v := findVerdict(t, All(run), "distributed, contended")
		if v.Use != c.use || !strings.Contains(numfmt.Plain(v.Why), c.why) {
			t.Errorf("require %v: use %q, want %q: %s", c.require, v.Use, c.use, v.Why)
		}
		reasons := make(map[string]string)
		for _, e := range Exclusions(run) {
			reasons[e.Lock] = e.Reason
		}
		if !strings.Contains(reasons[c.without], c.reason) || c.use != "" && reasons[c.use] != "" || reasons["local"] != "" {
			t.Errorf("require %v: excluded %q, want %s because of %q", c.require, reasons, c.without, c.reason)
		}
		if c.use == "" {
			for _, name := range []string{"redis-lock", "redis-queue", "zk-lock", "zk-handoff"} {
				if !strings.Contains(v.Why, name+": ") {
					t.Errorf("require %v: the row does not say why %s was left out: %s", c.require, name, v.Why)
				}
			}
		}
		if l := findVerdict(t, All(run), "more workers than CPUs"); l.Use != "local" {
			t.Errorf("require %v: the local row uses %q", c.require, l.Use)
		}
	}
}

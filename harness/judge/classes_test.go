package judge

import (
	"fmt"
	"strings"
	"testing"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/require"
	"locklab/internal/synthetic"
)

func servedRun(faults ...*result.FaultResult) *result.Run {
	model := func(name string, family harness.Family, kind string, rate float64) synthetic.Model {
		return synthetic.Model{Lock: synthetic.Served(name, family, kind), Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	run := synthetic.Run(5, 12, 2, []int{1, 8},
		model("redis-lock", harness.Redis, "redis", 2500), model("redis-queue", harness.Redis, "redis", 1900),
		model("zk-lock", harness.ZooKeeper, "zookeeper", 700), model("zk-handoff", harness.ZooKeeper, "zookeeper", 1100), synthetic.Fast("local", 1e6))
	run.Faults = faults
	return run
}

func editedFaults(scenario, lock string, edit func(*result.FaultResult)) []*result.FaultResult {
	all := synthetic.Faults()
	for _, f := range all {
		if f.Scenario == scenario && f.Lock.Name == lock {
			edit(f)
		}
	}
	return all
}

func withAnomaly(h oracle.Anomaly) func(*result.FaultResult) {
	return func(f *result.FaultResult) { f.Seen = map[oracle.Anomaly]int{h: 1} }
}

func TestClasses(t *testing.T) {
	for _, c := range []struct {
		name   string
		faults []*result.FaultResult
		uses   string // with the strengths
	}{
		{"nothing tested", nil, "redis-lock 0"},
		{"all tested", synthetic.Faults(), "zk-handoff 5; redis-queue 3; redis-lock 2"},
		{"two holders in one failover", editedFaults("failover", "zk-handoff", withAnomaly(oracle.TwoHolders)), "zk-lock 5; redis-queue 3; redis-lock 2"},
		{"a stale write", editedFaults("holder-pause", "zk-handoff", withAnomaly(oracle.StaleWrite)), "zk-lock 5; zk-handoff 4; redis-queue 3; redis-lock 2"},
		{"a holder that died and a lock that stayed taken", editedFaults("holder-crash", "zk-handoff", withAnomaly(oracle.Stuck)), "zk-lock 5; redis-queue 3; redis-lock 2"},
		{"not tried", editedFaults("failover", "zk-handoff", func(f *result.FaultResult) { f.Skipped = "no ensemble" }), "zk-lock 5; redis-queue 3; redis-lock 2"},
		{"the fastest was not tested", synthetic.Faults()[4:], "zk-handoff 5; redis-queue 3; redis-lock 0"},
		{"only the fastest was tested", synthetic.Faults()[:4], "redis-lock 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var got []string
			for i, d := range Decisions(servedRun(c.faults...)) {
				if d.Situation.Name() != "distributed, contended" {
					continue
				}
				got = append(got, fmt.Sprint(d.Use, " ", int(d.Class.Strength)))
				if i > 0 && len(got) > 1 && (d.Over == "" || d.Gain.Reading != Faster) {
					t.Errorf("%s comes after a stronger class: %+v times %q", d.Use, d.Gain, d.Over)
				}
			}
			if strings.Join(got, "; ") != c.uses {
				t.Errorf("got %q, want %q", got, c.uses)
			}
		})
	}
}

func TestSimplestOfEquals(t *testing.T) {
	model := func(name string, rate float64, c harness.Complexity) synthetic.Model {
		l := synthetic.Served(name, harness.Redis, "redis")
		l.Complexity = c
		return synthetic.Model{Lock: l, Rate: synthetic.Constant(rate), Handed: 1, Noise: 0.01}
	}
	for want, models := range map[string][]synthetic.Model{
		"simple": {model("queue", 1001, harness.Queued), model("simple", 1000, harness.Single), model("unjudged", 1000, 0)},
		"queue":  {model("queue", 2000, harness.Queued), model("simple", 1000, harness.Single)},
	} {
		require.Equal(t, "use", decideOn(t, synthetic.Run(5, 12, 2, []int{8}, models...), "distributed, contended").Use, want)
	}
}

// TestWeaknesses: a distributed lock has its traits and an unfair figure as prices.
func TestWeaknesses(t *testing.T) {
	for want, c := range map[string]struct {
		kind   string
		faults []*result.FaultResult
		skew   float64
		polls  bool
	}{"": {"zookeeper", nil, 0, false}, "one server": {"redis", nil, 0, false}, "unfair polls": {"redis", synthetic.Faults(), 2, true}} {
		run := synthetic.Run(5, 12, 2, []int{8}, synthetic.Model{Lock: synthetic.Served("redis-lock", harness.Redis, c.kind), Rate: synthetic.Constant(5e5), Handed: 1, Skew: c.skew},
			synthetic.Model{Lock: synthetic.Served("slow", harness.Redis, c.kind), Rate: synthetic.Constant(100), Handed: 1})
		for _, r := range run.Results {
			r.Trips = &result.Trips{Behind: &result.TripsBehind{Polls: c.polls}}
		}
		run.Faults = c.faults
		if d := decideOn(t, run, "distributed, contended"); d.Use != "redis-lock" || joinKinds(d.Prices) != want {
			t.Errorf("use %s for %q, want %q", d.Use, joinKinds(d.Prices), want)
		}
	}
}

func TestRequire(t *testing.T) {
	for _, c := range []struct {
		faults  []*result.FaultResult
		require []result.Guarantee
		use     string
		without string // an excluded lock
	}{
		{synthetic.Faults(), []result.Guarantee{result.Failover}, "zk-handoff", "redis-lock"},
		{editedFaults("failover", "redis-queue", func(f *result.FaultResult) { f.Seen, f.Expected.Anomalies = nil, nil }), []result.Guarantee{result.Failover}, "redis-queue", "redis-lock"},
		{synthetic.Faults(), []result.Guarantee{result.Recovery}, "zk-handoff", ""},
		{synthetic.Faults(), []result.Guarantee{result.Failover, result.Ordered}, "", "zk-handoff"},
		{nil, []result.Guarantee{result.Fencing}, "", "redis-queue"},
	} {
		run := servedRun(c.faults...)
		run.Require = c.require
		d := decideOn(t, run, "distributed, contended")
		if d.Use != c.use || (d.Rule == Unmet) != (c.use == "") || decideOn(t, run, "uncontended").Rule == Unmet {
			t.Errorf("require %v: %s, use %q, want %q", c.require, d.Rule, d.Use, c.use)
		}
		lacks := make(map[string][]result.Guarantee)
		for _, x := range Exclusions(run) {
			lacks[x.Lock.Name] = x.Lacks
		}
		if c.without != "" && lacks[c.without] == nil || c.use != "" && lacks[c.use] != nil || lacks["local"] != nil {
			t.Errorf("require %v: excluded %v", c.require, lacks)
		}
	}
}

package lab

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/synthetic"
)

// faultRun writes a run of synthetic failure scenarios on locks of the run in
// reports/testdata/run: zk-fair tolerates failover, redis-poll does not.
func faultRun(t *testing.T, dir string) {
	t.Helper()
	served := func(name string, family harness.Family, kind string) result.Lock {
		l := synthetic.Served(name, family, kind)
		l.Traits.Fenced = true
		return l
	}
	redis, zk := served("redis-poll", harness.Redis, harness.KindRedis), served("zk-fair", harness.ZooKeeper, harness.KindZooKeeper)
	w, err := result.Create(dir, result.Manifest{Command: []string{"locklab", "chaos"}, Commit: "0ff", Started: time.Unix(1, 0)})
	requireNoError(t, err)
	for _, f := range []*result.FaultResult{
		synthetic.Fault("failover", redis, 20, time.Second, map[oracle.Anomaly]int{oracle.TwoHolders: 5}, result.Failover, result.Fencing),
		synthetic.Fault("failover", zk, 20, time.Second, nil, result.Failover, result.Fencing),
	} {
		requireNoError(t, w.Append(result.Record{Fault: f}))
	}
	requireNoError(t, w.Finish(func(*result.Manifest) {}))
}

// TestGuarantees: failure scenarios decide the recommendation, and --require restricts it.
func TestGuarantees(t *testing.T) {
	drawApart(t)
	dir, faults := smallRun(t), filepath.Join(t.TempDir(), "faults")
	faultRun(t, faults)
	const strong = "use zk-fair (tolerates the loss of a server without two holders, and tokens refuse a paused holder)"
	for _, c := range []struct {
		args string
		own  bool // DIR/chaos exists
		want []string
	}{
		{"", false, []string{strong, "or without contention, if untested failures do no harm, the faster redis-poll"}},
		{"--chaos FAULTS", false, []string{strong, "or without contention, if one server is enough and the resource checks tokens, the faster redis-poll"}},
		{"--require fencing,failover --chaos FAULTS", false, []string{"Between processes use zk-fair (", "redis-poll: required: failover broken by failover (two holders)"}},
		{"--require order --chaos FAULTS", false, []string{"Between processes there is no recommendation: no lock measured here has the required guarantees", "zk-fair: required: order not tested", "Inside one process use"}},
		{"", true, []string{"or without contention, if one server is enough and the resource checks tokens, the faster redis-poll"}},
	} {
		if c.own {
			faultRun(t, filepath.Join(dir, "chaos"))
		}
		args := append([]string{"report", dir, "--out", filepath.Join(t.TempDir(), "r.html")}, strings.Fields(strings.ReplaceAll(c.args, "FAULTS", faults))...)
		requireStatus(t, 0, args, c.want...)
	}
}

func TestGuaranteesUsage(t *testing.T) {
	t.Parallel()
	faults, copied := filepath.Join(t.TempDir(), "faults"), filepath.Join(t.TempDir(), "copied")
	faultRun(t, faults)
	faultRun(t, copied)
	run := absolutePath(t, "../reports/testdata/run")
	requireRefusals(t, "", []refusal{
		{"report " + run + " --require speed", `"--require" flag: there is no guarantee "speed"; there are failover, fencing, order, recovery`},
		{"run --require failover,speed", `there is no guarantee "speed"`},
		{"report " + run + " --baseline nosuch", "--baseline nosuch: the run has no such lock; it has "},
		{"run --locks mcs,ticket --baseline clh", "--baseline clh: the run has no such lock; it has ticket and mcs"},
		{"report " + run + " --chaos nowhere", "nowhere holds no run"},
		{"report " + run + " --chaos " + run, "tried no failure scenario"},
		{"report " + faults + " --chaos " + faults, "is the run itself"},
		{"report " + run + " --chaos " + faults + "," + faults, "is given twice"},
		{"report " + run + " --chaos " + faults + "," + copied, "is given twice"},
		{"report " + faults + " --chaos " + copied, "is the run itself"},
		{"agree " + faults + " " + copied, "is given twice"},
		{"report " + run + " " + faults + " --chaos " + faults, "--chaos is for one run"},
	})
}

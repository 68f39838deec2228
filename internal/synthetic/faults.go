package synthetic

import (
	"math"
	"math/rand/v2"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
)

// HistoryName is the history in a result of [Faults].
const HistoryName = "histories/failover-redis-queue-1.jsonl"

// Fault returns a synthetic result of a scenario: tries, of which seen showed each anomaly,
// and windows around the given one.
func Fault(scenario string, lock result.Lock, tries int, window time.Duration, seen map[oracle.Anomaly]int, tests ...result.Guarantee) *result.FaultResult {
	rng := rand.New(rand.NewPCG(uint64(len(scenario)), uint64(len(lock.Name))))
	r := &result.FaultResult{
		Scenario: scenario, Question: "What does " + scenario + " do to a lock?", Fault: "made up", Source: "none", Tests: tests, Lock: lock,
		Seed: 7, Started: time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC), Elapsed: time.Duration(tries) * 2 * window,
		Tries: tries, Seen: seen, Expected: result.Expectation{Why: "made up"},
	}
	for _, h := range oracle.Anomalies {
		if seen[h] > 0 {
			r.Expected.Anomalies = append(r.Expected.Anomalies, h)
		}
	}
	for range tries - seen[oracle.Stuck] {
		r.Window = append(r.Window, int64(float64(window)*math.Exp(0.2*rng.NormFloat64())))
	}
	return r
}

// Faults returns synthetic results of failure scenarios for five distributed locks.
func Faults() (out []*result.FaultResult) {
	lock := func(name string, family harness.Family, kind string, fenced, fifo bool) result.Lock {
		l := Served(name, family, kind)
		l.Traits.Fenced, l.Traits.FIFO = fenced, fifo
		return l
	}
	type seen = map[oracle.Anomaly]int
	for _, c := range []struct {
		lock                          result.Lock
		pause, crash, failover, reply seen
		window                        time.Duration
	}{
		{lock("redis-lock", harness.Redis, "redis", true, false), seen{oracle.TwoHolders: 200}, nil, seen{oracle.TwoHolders: 31, oracle.TokenFell: 12}, nil, 900 * time.Millisecond},
		{lock("redis-queue", harness.Redis, "redis", true, true), seen{oracle.TwoHolders: 199}, nil, seen{oracle.TwoHolders: 33}, nil, 700 * time.Millisecond},
		{lock("zk-lock", harness.ZooKeeper, "zookeeper", true, true), seen{oracle.TwoHolders: 180}, nil, nil, nil, 1400 * time.Millisecond},
		{lock("zk-handoff", harness.ZooKeeper, "zookeeper", true, true), seen{oracle.TwoHolders: 185}, nil, nil, nil, 1200 * time.Millisecond},
		{lock("redsync", harness.Peer, "redis", false, false), seen{oracle.TwoHolders: 200, oracle.StaleWrite: 197}, nil, seen{oracle.TwoHolders: 38}, seen{oracle.LeftBehind: 200, oracle.Stall: 180}, 2100 * time.Millisecond},
	} {
		pause := Fault("holder-pause", c.lock, 200, c.window, c.pause, result.Fencing)
		crash := Fault("holder-crash", c.lock, 200, c.window*2, c.crash, result.Recovery)
		failover := Fault("failover", c.lock, 40, c.window*3/2, c.failover, result.Failover, result.Fencing)
		reply := Fault("reply-lost", c.lock, 200, c.window/9, c.reply)
		crash.Aims = []result.FaultAim{{Figure: "window", Quantile: 1, Limit: float64(4 * time.Second), Text: "the next holder within 4 s"}}
		if c.lock.Name == "redsync" { // no expectation
			pause.Expected, crash.Expected, failover.Expected, reply.Expected = result.Expectation{}, result.Expectation{}, result.Expectation{}, result.Expectation{}
		}
		for range c.failover[oracle.TwoHolders] {
			failover.Overlap = append(failover.Overlap, int64(120*time.Millisecond))
		}
		if c.lock.Name == "redis-queue" {
			failover.Histories = []string{HistoryName}
		}
		out = append(out, pause, crash, failover, reply)
	}
	skipped := Fault("clock-step", lock("redis-queue", harness.Redis, "redis", true, true), 0, 0, nil)
	skipped.Skipped, skipped.Expected.Why = "there is no C compiler", "its leases are by the server's clock"
	return append(out, skipped)
}

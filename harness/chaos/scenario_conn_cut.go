package chaos

import (
	"context"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var cutScenarios = table(Scenario{
	Family: "Redis connection cut", Locks: redisKinds, Expect: cutExpect, Deadline: 20 * time.Second, Prompt: TTL / 4, Tries: 200,
	Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "margin", Quantile: 0, Least: true, Limit: 0, Text: "told before the next one enters"}}},
}, []Scenario{
	{Name: "redis-holder-cut-off", Takes: 5, Short: true,
		Question: "Is a holder that is cut off told before the next client enters?",
		Fault:    "what the holder sends and what it is sent vanishes, and its connections stay open",
		Source:   "Gray & Cheriton 1989, Leases; Kleppmann 2016, How to do distributed locking",
		Try:      cutOff("holder cut off", func(_ *Subject, w wire) { w.partition(true) }),
	},
	{Name: "renewals-lost", Takes: 4,
		Question: "Is a holder whose renewals fail told before the next client enters?",
		Fault:    "every request that names the lock is lost with its connection (RST), and all others pass, once the holder has the lock",
		Source:   "Redisson issues 1626, 3194, 3712: the watchdog stops and the holder goes on",
		Try: cutOff("renewals lost", func(s *Subject, w wire) {
			w.inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Times: 1 << 30, Match: about(s)})
		}),
	},
})

func cutOff(what string, cut func(s *Subject, w wire)) func(ctx context.Context, t *Try) {
	return perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
		at := must(t.At(ctx, s.Variant))
		through, wires := t.Through(at)
		p := &pair{hosts[0].openEach(ctx, s, through), hosts[1].Open(ctx, s, at)}
		p.begin(ctx)
		t.Sleep(ctx, TTL/4+time.Duration(s.Rand.Int64N(int64(TTL/2))))
		s.Fault("%s", what)
		began := t.Now()
		cut(s, wires)
		s.AwaitGrant(ctx, 3*TTL, began)
		t.Sleep(ctx, 100*time.Millisecond)
	})
}

var cutExpect = []Expectation{
	{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.TwoHolders}, "it reckons its lease from the reply; a waiter that asks how long the lock is taken just when the lease is over takes the answer for never (B21)"},
	{"rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.TwoHolders}, "its holder waits for the answer to a renewal until the time is over that it has asked for, half a lease too late; a waiter may miss the end of a key"},
	{"redis-token", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it has no lease: the others wait for ever"},
	{".*", []oracle.Anomaly{oracle.Stall}, "the next client waits until the lease is over, and the holder is told before"},
}

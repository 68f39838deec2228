package chaos

import (
	"context"
	"time"

	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var noiseScenarios = table(Scenario{
	Family: "Redis connection noise", Tests: []result.Guarantee{result.Fencing}, Locks: redisKinds, Deadline: 30 * time.Second,
}, []Scenario{
	{Name: "redis-resets", Takes: 7, Tries: 100, Deadline: 20 * time.Second, Prompt: TTL,
		Question: "Does a lock survive that its connections are reset again and again?",
		Fault:    "all connections of four busy clients are reset (RST), in eight bursts within two seconds",
		Source:   "go-zookeeper's zk.Lock dies of 48 resets in 6 s; the same done to Redis",
		Expect: []Expectation{
			{"redis-token|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken, oracle.TwoHolders, oracle.StaleWrite}, "what a lost reply has taken comes back late or never, and what a lost release has freed is freed again"},
			{"redis-(setnx|fair-redisson|unsafe)|bsm-redislock-.*|rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a lost reply leaves the lock taken for its time to live"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a handover that is lost may cost what is left of the lease, and a waiter that cannot be reached its turn"},
		},
		Try: disturbed(ordinary, func(ctx context.Context, t *Try, s *Subject, wires wire) {
			for i := range 8 {
				s.Fault("connections reset")
				for range 1 + s.Rand.IntN(3) {
					wires.each((*faultproxy.Proxy).Reset)
					t.Sleep(ctx, 5*time.Millisecond)
				}
				t.Sleep(ctx, time.Duration(s.Rand.Int64N(int64(1+i)<<26))+100*time.Millisecond)
			}
		}, TTL/2),
	},
	{Name: "redis-silent", Takes: 10, Tries: 50, Prompt: 2 * TTL,
		Question: "Do clients notice that their connections are dead, as behind a NAT that has forgotten them?",
		Fault:    "all connections that four busy clients have open lose what is sent, for ever and without an error; new ones work",
		Source:   "go-redis issue 2103: a pool full of dead connections; RFC 5382 on NAT timeouts",
		Expect: []Expectation{
			{"redis-token|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "what was taken is lost, and a subscription that is dead is not noticed"},
			{"redis-fair-redisson", []oracle.Anomaly{oracle.Stall, oracle.Overtaken, oracle.Stuck}, "a subscription that is dead is noticed by its silence only"},
			{redisRecommended, []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a request is sent once more by a new connection after a while without an answer; a waiter that cannot be reached loses its turn"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the client library waits three seconds and more for an answer"},
		},
		Try: disturbed(ordinary, func(ctx context.Context, t *Try, s *Subject, wires wire) {
			s.Fault("connections silent")
			wires.each((*faultproxy.Proxy).Forget)
		}, 5*TTL),
	},
	{Name: "redis-latency", Takes: 9, Tries: 50, Prompt: 3 * TTL,
		Question: "Is the lock safe when a round trip takes half of its lease?",
		Fault:    "every message of four busy clients arrives a fifth of the lease late, and up to a tenth more at random, in both directions",
		Source:   "row 22 of the usual list of failures of leases: a lease counts from the request and not from the reply",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "it reckons its lease from the reply, and what it does under the lock takes several round trips"},
			{"redis-unsafe", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall}, "its release deletes what it has asked for a round trip before"},
			{"rueidislock.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "its holder may be told half a lease too late"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "an acquire takes several round trips, and the lease counts from the request"},
		},
		Try: disturbed(Loop{Hold: TTL * 3 / 4, Think: 20 * time.Millisecond, Random: true}, func(ctx context.Context, t *Try, s *Subject, wires wire) {
			s.Fault("messages are late")
			wires.late(TTL/5, TTL/10, s.Rand.Uint64())
			t.Sleep(ctx, 5*TTL)
			wires.late(0, 0, 0)
			s.Over("messages are late")
		}, TTL/2),
	},
	{Name: "pool-used-up", Takes: 6, Alone: true, Tries: 10, Prompt: 2 * TTL,
		Question: "Does a holder keep its lease when the waiters of its client use up the connections?",
		Fault:    "a client with 64 connections has a worker that holds the lock and 159 that wait for it, and when they wait every message takes 100 ms for four leases; no other client is there, and the server runs",
		Source:   "row 19 of the usual list of failures of leases: a renewal waits for a connection like any request",
		Tests:    []result.Guarantee{},
		Locks:    "redis-(queue|reentrant|rw|multi|cohort|pubsub|poll-5ms|unsafe)",
		Expect: []Expectation{
			{"redis-unsafe", []oracle.Anomaly{oracle.Lost, oracle.Stall, oracle.TwoHolders, oracle.StaleWrite}, "its waiters ask by the connections that renewals go by, and its release deletes what it has asked for before it waited for one"},
			{"redis-poll-5ms", []oracle.Anomaly{oracle.Lost, oracle.Stall}, "its waiters ask again and again by the connections that renewals go by, and a renewal waits behind them for longer than its lease"},
			{".*", []oracle.Anomaly{oracle.Lost}, "its waiters listen by connections of their own, and a renewal that would wait for one opens it: that takes 400 of the 1000 ms of the lease, which on a busy machine may be too long"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "leases lost", Quantile: 1, Limit: 0, Text: "none"}}},
		Try: perLock(1, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			holder, wires := t.wired(ctx, hosts[0], s)
			check(holder.Acquire(ctx, 0))
			for _, w := range holder.group(ctx, 160)[1:] {
				w.Loop(ctx, Loop{Hold: 5 * time.Millisecond})
			}
			t.Sleep(ctx, TTL/2) // their first requests use the same connections
			wires.late(100*time.Millisecond, 0, 0)
			s.Fault("messages are late")
			t.Sleep(ctx, 4*TTL)
			s.showLost(s.events(), "leases lost", "", func(e oracle.Event) bool { return e.Worker == holder.ID })
			holder.Release(ctx) // fails if the lock is lost
		}),
	},
})

func disturbed(l Loop, disturb func(ctx context.Context, t *Try, s *Subject, wires wire), after time.Duration) func(ctx context.Context, t *Try) {
	return perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
		var wires wire
		for i := range 4 {
			w, wire := t.wired(ctx, hosts[i%2], s)
			wires = append(wires, wire...)
			w.Loop(ctx, l)
		}
		t.Sleep(ctx, TTL/4)
		disturb(ctx, t, s, wires)
		began := t.Now()
		t.Sleep(ctx, after)
		s.AwaitGrant(ctx, 3*TTL, began)
	})
}

// showLost shows the losses in events that holders were notified of and that match, unless the machine
// kept a process that renews the lease from running for half the lease.
func (s *Subject) showLost(events oracle.History, figure, prefix string, match func(oracle.Event) bool) {
	lost := 0
	for _, e := range events {
		if e.Kind == oracle.Told && match(e) {
			s.ShowTimed(oracle.Lost, e.At-int64(TTL), e.At, TTL/2, "%s%s", prefix, e.Text)
			lost++
		}
	}
	s.Figure(figure, "", float64(lost))
}

package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/internal/faultproxy"
)

var noiseScenarios = []*Scenario{redisResets, redisSilent, redisLatency, poolExhausted, poolUsedUp}

func disturbed(l Loop, disturb func(ctx context.Context, t *Try, s *Subject, wires wire), after time.Duration) func(ctx context.Context, t *Try) {
	return func(ctx context.Context, t *Try) {
		hosts := t.Hosts(2)
		t.Each(func(s *Subject) {
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
			wait, cancel := context.WithTimeout(ctx, 3*TTL)
			defer cancel()
			s.AwaitGrant(wait, began)
		})
	}
}

var redisResets = &Scenario{
	Name:     "redis-resets",
	Question: "Does a lock survive that its connections are reset again and again?",
	Fault:    "all connections of four busy clients are reset (RST), in eight bursts within two seconds",
	Source:   "go-zookeeper's zk.Lock dies of 48 resets in 6 s; the same done to Redis",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisKinds,
	Expect: []Expectation{
		{"redis-token|redis-redisson12", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken, harness.TwoHolders, harness.StaleWrite}, "what a lost reply has taken comes back late or never, and what a lost release has freed is freed again"},
		{"redis-(setnx|fair-redisson|unsafe)|bsm-redislock-.*|rueidislock.*", []harness.Harm{harness.Stall, harness.Overtaken}, "a lost reply leaves the lock taken for its time to live"},
		{".*", []harness.Harm{harness.Stall, harness.Overtaken}, "a hand-over that is lost may cost what is left of the lease, and a waiter that cannot be reached its turn"},
	},
	Deadline: 20 * time.Second,
	Prompt:   TTL,
	Tries:    100,
	Try: disturbed(ordinary, func(ctx context.Context, t *Try, s *Subject, wires wire) {
		for i := range 8 {
			s.Fault("connections reset")
			for range 1 + s.draw(t, 3) {
				wires.each((*faultproxy.Proxy).Reset)
				t.Sleep(ctx, 5*time.Millisecond)
			}
			t.Sleep(ctx, time.Duration(s.draw(t, int64(1+i)<<26))+100*time.Millisecond)
		}
	}, TTL/2),
}

var redisSilent = &Scenario{
	Name:     "redis-silent",
	Question: "Do clients notice that their connections are dead, as behind a NAT that has forgotten them?",
	Fault:    "all connections that four busy clients have open lose what is sent, for ever and without an error; new ones work",
	Source:   "go-redis issue 2103: a pool full of dead connections; RFC 5382 on NAT timeouts",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisKinds,
	Expect: []Expectation{
		{"redis-token|redis-redisson12", []harness.Harm{harness.Stall, harness.Stuck, harness.Overtaken}, "what was taken is lost, and a subscription that is dead is not noticed"},
		{"redis-fair-redisson", []harness.Harm{harness.Stall, harness.Overtaken, harness.Stuck}, "a subscription that is dead is noticed by its silence only"},
		{"redis-(queue|reentrant|rw|semaphore|multi|cohort)", []harness.Harm{harness.Stall, harness.Overtaken}, "a request is sent once more by a new connection after a while without an answer; a waiter that cannot be reached loses its turn"},
		{".*", []harness.Harm{harness.Stall, harness.Stuck}, "the client library waits three seconds and more for an answer"},
	},
	Deadline: 30 * time.Second,
	Prompt:   2 * TTL,
	Tries:    50,
	Try: disturbed(ordinary, func(ctx context.Context, t *Try, s *Subject, wires wire) {
		s.Fault("connections silent")
		wires.each((*faultproxy.Proxy).Forget)
	}, 5*TTL),
}

var redisLatency = &Scenario{
	Name:     "redis-latency",
	Question: "Is the lock safe when a round trip takes half of its lease?",
	Fault:    "every message of four busy clients arrives a fifth of the lease late, and up to a tenth more at random, in both directions",
	Source:   "row 22 of the usual list of failures of leases: a lease counts from the request and not from the reply",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisKinds,
	Expect: []Expectation{
		{"redis-redisson12", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck}, "it reckons its lease from the reply, and what it does under the lock takes several round trips"},
		{"redis-unsafe", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall}, "its release deletes what it has asked for a round trip before"},
		{"rueidislock.*", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck}, "its holder may be told half a lease too late"},
		{".*", []harness.Harm{harness.Stall, harness.Overtaken}, "an acquire takes several round trips, and the lease counts from the request"},
	},
	Deadline: 30 * time.Second,
	Prompt:   3 * TTL,
	Tries:    50,
	Try: disturbed(Loop{Hold: TTL * 3 / 4, Think: 20 * time.Millisecond, Random: true}, func(ctx context.Context, t *Try, s *Subject, wires wire) {
		s.Fault("messages are late")
		for i, p := range wires {
			for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
				p.Delay(d, TTL/5)
				p.Jitter(d, TTL/10, t.Seed+uint64(i))
			}
		}
		t.Sleep(ctx, 5*TTL)
		for _, p := range wires {
			for _, d := range []faultproxy.Direction{faultproxy.Request, faultproxy.Reply} {
				p.Delay(d, 0)
				p.Jitter(d, 0, 0)
			}
		}
		s.Over("messages are late")
	}, TTL/2),
}

// Over records in the history of one lock that a fault has been undone.
func (s *Subject) Over(format string, args ...any) {
	s.record(oracle.Event{At: now(), Worker: -1, Kind: oracle.Over, Text: fmt.Sprintf(format, args...)})
}

var poolExhausted = &Scenario{
	Name:     "pool-exhausted",
	Question: "How much of its lease is left to a holder when its client has fewer connections than workers?",
	Fault:    "a client with 64 connections has 160 workers that lock and unlock, and every message takes 20 ms",
	Source:   "row 19 of the usual list of failures of leases: the wait for a connection eats the lease",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    "redis-(queue|reentrant|rw|semaphore|multi|cohort|poll-5ms|pubsub|redisson12|unsafe)|redsync-1ms|bsm-redislock-1ms",
	Expect: []Expectation{
		{"redis-redisson12", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall, harness.Stuck}, "it reckons its lease from the reply, behind a queue for connections"},
		{"redis-unsafe", []harness.Harm{harness.TwoHolders, harness.StaleWrite, harness.Stall}, "its release deletes what it has asked for before it waited for a connection"},
		{".*", []harness.Harm{harness.Stall}, "releases and renewals wait for a connection, too; the lease counts from the request"},
	},
	Deadline: 30 * time.Second,
	Prompt:   TTL,
	Alone:    true,
	Tries:    10,
	Aims:     []Aim{{redisRecommended, harness.FaultAim{Figure: "lease left", Quantile: 0, Least: true, Limit: 0, Text: "some of it"}}},
	Try: func(ctx context.Context, t *Try) {
		h := t.Host()
		t.Each(func(s *Subject) {
			w, wire := t.wired(ctx, h, s)
			wire.each(func(p *faultproxy.Proxy) {
				p.Delay(faultproxy.Request, 10*time.Millisecond)
				p.Delay(faultproxy.Reply, 10*time.Millisecond)
			})
			workers := []*Worker{w}
			for range 159 {
				next := w.Join(ctx)
				workers = append(workers, next)
			}
			s.Fault("all workers begin")
			for _, w := range workers {
				w.Loop(ctx, Loop{Hold: 5 * time.Millisecond})
			}
			t.Sleep(ctx, 4*TTL)
			s.left()
		})
	},
}

func (s *Subject) left() {
	least, any := time.Duration(0), false
	s.visit(func(e *oracle.Event) {
		if e.Kind != oracle.Granted || e.Deadline == 0 {
			return
		}
		if d := time.Duration(e.Deadline - e.At); !any || d < least {
			least, any = d, true
		}
	})
	if any {
		s.Figure("lease left", "ms", float64(least)/1e6)
	}
}

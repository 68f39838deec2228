package chaos

import (
	"context"
	"errors"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/faultproxy"
)

var releaseScenarios = table(Scenario{
	Family: "release", Tests: []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "release-late", Takes: 3, Tries: 200, Deadline: 20 * time.Second, Prompt: TTL / 2,
		Question: "May a release that arrives after the lease free the lock of the next holder?",
		Fault:    "the requests of a holder to release the lock, except the check of its owner, are held back until its lease is over and the next client holds the lock; a third client waits",
		Source:   "Redisson 1.2.0, unlock: GET, then MULTI, DEL (B19); Redis documentation, Distributed Locks, on why one script must compare and delete",
		Locks:    redisLocks,
		Expect: []Expectation{
			{"redis-(unsafe|redisson12)", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "it checked the owner earlier, and DEL frees the lock of any owner"},
			{"redis-token", []oracle.Anomaly{oracle.Stall}, "it has no lease: the others wait until the release arrives"},
			{".*", []oracle.Anomaly{oracle.Stall}, "the server compares and frees in one step; meanwhile the others wait for the end of the lease"},
		},
		Try: perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			w, wire := t.wired(ctx, hosts[0], s)
			holders := t.holders(ctx, hosts[1], s)
			third := t.plain(ctx, hosts[1], s)
			warm(ctx, w)
			check(w.Acquire(ctx, 0))
			remove, _ := wire.inject(faultproxy.Fault{Do: faultproxy.HoldBack, By: 3 * TTL / 2, Times: 1000, Match: about(s, "get")})
			s.Fault("release held back")
			released := make(chan error, 1)
			t.work.Go(func() { released <- w.Release(ctx) })
			for _, h := range holders {
				if err := h.Acquire(ctx, 3*TTL); err != nil {
					break // the history has the reason
				}
			}
			waits := third.Begin(ctx, 2*TTL)
			t.Sleep(ctx, TTL)
			remove()
			for _, h := range holders {
				h.Write(ctx)
				h.Release(ctx)
			}
			if <-waits == nil {
				third.Release(ctx)
			}
			<-released
		}),
	},
	{Name: "release-stale", Takes: 8, Tries: 60, Deadline: 40 * time.Second, Prompt: 2 * SessionTimeout, // without Curator: Java takes longer to start than all the rest
		Question: "Does a release of a released or lost lock return an error and leave the next holder alone?",
		Fault:    "a client releases the lock twice, the second time when others hold it; then its process is stopped (SIGSTOP) until it has lost the lock to them, and it releases again",
		Source:   "Redis documentation, Distributed Locks; the DEL of most first versions",
		Locks:    strings.ReplaceAll(remoteLocks, "|curator-.*", ""),
		Expect: []Expectation{
			{"redis-token|zk-persistent", []oracle.Anomaly{oracle.Stall}, "nothing ends the hold of a stopped holder: the others wait until it continues"},
			{"zk-.*-historical", []oracle.Anomaly{oracle.TwoHolders, oracle.Misled}, "a stopped holder cannot be notified; its release finds its node gone and returns no error"},
			{".*", []oracle.Anomaly{oracle.TwoHolders}, "a stopped holder cannot be notified; its release frees nothing and is refused"},
		},
		Try: func(ctx context.Context, t *Try) {
			hosts := t.Hosts(2)
			t.Each(func(s *Subject) {
				s.first, s.holders, s.late = t.plain(ctx, hosts[0], s), t.holders(ctx, hosts[1], s), t.plain(ctx, hosts[1], s)
				s.all = s.holders
				s.releaseTwice(ctx)
			})
			hosts[0].Pause()
			began := t.Now()
			t.Each(func(s *Subject) {
				for _, w := range s.holders {
					w.Acquire(ctx, outlived(s.Variant))
				}
			})
			hosts[0].Resume()
			t.Each(func(s *Subject) { s.releaseLate(ctx, s.served(began)) })
		},
	},
})

// intrusion is how long the late client tries to get a lock that others hold.
const intrusion = 200 * time.Millisecond

// releaseTwice: the late client must not get the lock by the second release.
func (s *Subject) releaseTwice(ctx context.Context) {
	warm(ctx, s.first)
	acquireAll(ctx, s.holders)
	s.Fault("released again")
	s.showAccepted("a second release", s.first.ReleaseAgain(ctx))
	s.late.visit(ctx, intrusion)
	check(releaseAll(ctx, s.holders))
	check(s.first.Acquire(ctx, 0))
}

// releaseLate makes the first client release the lock that it may have lost to the others.
func (s *Subject) releaseLate(ctx context.Context, lost bool) {
	wait, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	s.Fault("released late")
	err := s.first.Release(wait)
	if lost && wait.Err() == nil {
		s.showAccepted("the release of a lost lock", err)
	}
	if lost {
		s.late.visit(ctx, intrusion)
	}
}

func (s *Subject) showAccepted(what string, err error) {
	if !errors.Is(err, harness.ErrNotHeld) {
		s.Show(oracle.Misled, "%s said %v", what, err)
	}
}

var noiseScenarios = table(Scenario{
	Family: "Redis connection noise", Tests: []result.Guarantee{result.Fencing}, Locks: redisKinds, Deadline: 30 * time.Second,
}, []Scenario{
	{Name: "redis-resets", Takes: 7, Tries: 100, Deadline: 20 * time.Second, Prompt: TTL,
		Question: "Does a lock tolerate connections that are reset again and again?",
		Fault:    "all connections of four busy clients are reset (RST), in eight bursts within two seconds",
		Source:   "go-zookeeper's zk.Lock fails after 48 resets in 6 s; here the same for Redis",
		Expect: []Expectation{
			{"redis-token|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken, oracle.TwoHolders, oracle.StaleWrite}, "an element taken by a lost reply comes back late or never, and a lost release is done twice"},
			{"redis-fair-redisson", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "a waiter with a lost reply keeps its place for five minutes"},
			{"redis-(setnx|unsafe)|bsm-redislock-.*|rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a lost reply leaves the lock taken for its time to live"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a lost handover may cost the rest of the lease, and an unreachable waiter may lose its turn"},
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
	{Name: "redis-silent", Takes: 10, Tries: 60, Prompt: 2 * TTL,
		Question: "Do clients notice that their connections are dead, as behind a NAT that has forgotten them?",
		Fault:    "all open connections of four busy clients lose every message from then on, without an error; new connections work",
		Source:   "go-redis issue 2103: a pool full of dead connections; RFC 5382 on NAT timeouts",
		Expect: []Expectation{
			{"redis-token|redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.Overtaken}, "a grant in a lost reply is lost, and the client does not notice a dead subscription"},
			{"redis-fair-redisson", []oracle.Anomaly{oracle.Stall, oracle.Overtaken, oracle.Stuck}, "a dead subscription is noticed only by its silence"},
			{redisRecommended, []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "a request without an answer is repeated on a new connection after a while; an unreachable waiter loses its turn"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "the client library waits three seconds and more for an answer"},
		},
		Try: disturbed(ordinary, func(ctx context.Context, t *Try, s *Subject, wires wire) {
			s.Fault("connections silent")
			wires.each((*faultproxy.Proxy).Forget)
		}, 5*TTL),
	},
	{Name: "redis-latency", Takes: 9, Tries: 60, Prompt: 3 * TTL,
		Question: "Is the lock safe when a round trip takes half of its lease?",
		Fault:    "every message of four busy clients arrives a fifth of the lease late, and up to a tenth more at random, in both directions",
		Source:   "row 22 of the usual list of failures of leases: a lease counts from the request and not from the reply",
		Expect: []Expectation{
			{"redis-redisson12", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "it counts its lease from the reply, and its work under the lock takes several round trips"},
			{"redis-unsafe", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall}, "its release deletes a key that it read a round trip before"},
			{"rueidislock.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "its holder may be notified half a lease too late"},
			{".*", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "an acquire takes several round trips, and the lease counts from the request"},
		},
		Try: disturbed(Loop{Hold: TTL * 3 / 4, Think: 20 * time.Millisecond, Random: true}, func(ctx context.Context, t *Try, s *Subject, wires wire) {
			s.Fault("messages are late")
			wires.late(TTL/5, TTL/10)
			t.Sleep(ctx, 5*TTL)
			wires.late(0, 0)
			s.Over("messages are late")
		}, TTL/2),
	},
	{Name: "pool-used-up", Takes: 6, Alone: true, Tries: 10, Prompt: 2 * TTL,
		Question: "Does a holder keep its lease when the waiters of its client use up the connections?",
		Fault:    "a client with 64 connections has a holder and 159 waiters; once they wait, every message takes 100 ms for four leases; the server runs and has no other client",
		Source:   "row 19 of the usual list of failures of leases: a renewal waits for a connection like any request",
		Tests:    []result.Guarantee{},
		Locks:    "redis-(queue|reentrant|rw|multi|cohort|pubsub|poll-5ms|unsafe)",
		Expect: []Expectation{
			{"redis-unsafe", []oracle.Anomaly{oracle.Lost, oracle.Stall, oracle.TwoHolders, oracle.StaleWrite}, "its waiters use the connections of renewals, and its release deletes a key that it read before it waited for a connection"},
			{"redis-poll-5ms", []oracle.Anomaly{oracle.Lost, oracle.Stall}, "its waiters poll on the connections of renewals, and a renewal waits behind them for longer than its lease"},
			{".*", []oracle.Anomaly{oracle.Lost}, "its waiters have their own connections, and a renewal opens one instead of waiting; that takes 400 ms of the lease of 1000 ms, which may be too long on a busy machine"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "leases lost", Quantile: 1, Limit: 0, Text: "none"}}},
		Try: perLock(1, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
			holder, wires := t.wired(ctx, hosts[0], s)
			check(holder.Acquire(ctx, 0))
			for _, w := range holder.group(ctx, 160)[1:] {
				w.Loop(ctx, Loop{Hold: 5 * time.Millisecond})
			}
			t.Sleep(ctx, TTL/2) // their first requests use the same connections
			wires.late(100*time.Millisecond, 0)
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

var cutScenarios = table(Scenario{
	Family: "Redis connection cut", Locks: redisKinds, Expect: cutExpect, Deadline: 20 * time.Second, Prompt: TTL / 4, Tries: 200,
	Aims: []Aim{{redisRecommended, result.FaultAim{Figure: "notice", Quantile: 0, Least: true, Limit: 0, Text: "holder notified before the next client enters"}}},
}, []Scenario{
	{Name: "redis-holder-cut-off", Takes: 5, Short: true,
		Question: "Is a holder that is cut off notified before the next client enters?",
		Fault:    "all messages from and to the holder vanish, and its connections stay open",
		Source:   "Gray & Cheriton 1989, Leases; Kleppmann 2016, How to do distributed locking",
		Try:      cutOff("holder cut off", func(_ *Subject, w wire) { w.partition(true) }),
	},
	{Name: "renewals-lost", Takes: 4,
		Question: "Is a holder whose renewals fail notified before the next client enters?",
		Fault:    "once the holder has the lock, every request that names it is lost with its connection (RST); all others pass",
		Source:   "Redisson issues 1626, 3194, 3712: the watchdog stops and the holder continues",
		Try: cutOff("renewals lost", func(s *Subject, w wire) {
			w.inject(faultproxy.Fault{Do: faultproxy.LoseRequest, Times: 1 << 30, Match: about(s)})
		}),
	},
})

func cutOff(what string, cut func(s *Subject, w wire)) func(ctx context.Context, t *Try) {
	return perLock(2, func(ctx context.Context, t *Try, s *Subject, hosts []*Host) {
		at := t.At(ctx, s)
		through, wires := t.Through(at)
		s.holders, s.next = hosts[0].openEach(ctx, s, through), hosts[1].Open(ctx, s, at)
		s.begin(ctx)
		t.Sleep(ctx, TTL/4+time.Duration(s.Rand.Int64N(int64(TTL/2))))
		s.Fault("%s", what)
		began := t.Now()
		cut(s, wires)
		s.AwaitGrant(ctx, 3*TTL, began)
		t.Sleep(ctx, 100*time.Millisecond)
	})
}

var cutExpect = []Expectation{
	{"redis-redisson12", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.TwoHolders}, "it counts its lease from the reply; a waiter that asks for the time left just as the lease ends takes the answer for a key without expiry (B21)"},
	{"rueidislock.*", []oracle.Anomaly{oracle.Stall, oracle.Stuck, oracle.TwoHolders}, "its holder waits for the answer to a renewal until the requested lease is over, half a lease too late; a waiter may miss the expiry of a key"},
	{"redis-token", []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "it has no lease: the others wait for ever"},
	{".*", []oracle.Anomaly{oracle.Stall}, "the next client waits until the lease is over, and the holder is notified before that"},
}

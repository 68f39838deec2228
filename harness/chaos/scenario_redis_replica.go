package chaos

import (
	"context"
	"net"
	"slices"
	"sync"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// minReplicasArgs make a primary refuse writes after a second or two without contact to a
// replica.
var minReplicasArgs = []any{"CONFIG", "SET", "min-replicas-to-write", "1", "min-replicas-max-lag", "1"}

var minReplicasEarly = promotions(Scenario{
	Name:     "redis-min-replicas-early",
	Question: "Does min-replicas-to-write prevent two holders at once after the link is cut?",
	Fault:    "the primary, with min-replicas-to-write 1 and a lag of a second, is cut off from its replica, grants the lock within that second and is killed; the replica is promoted",
	Expect:   slices.Concat(forgottenFenced, forgottenPlain),
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, true)
		check(r.primary.Do(ctx, minReplicasArgs...).Err())
		r.link.Partition(true)
		r.promotion(ctx)
	},
})

var minReplicas = promotions(Scenario{
	Name:     "redis-min-replicas",
	Question: "Does a primary refuse locks that no replica hears of?",
	Fault:    "the primary, with min-replicas-to-write 1 and a lag of a second, is cut off from its replica; once it has noticed that a client asks it for the lock for a second; then it is killed and the replica is promoted",
	Expect: []Expectation{
		published, losesWakeUps,
		{redisOne, nil, "the primary refuses the write (NOREPLICAS), and the client does not hold the lock"},
	},
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, true)
		check(r.primary.Do(ctx, minReplicasArgs...).Err())
		r.link.Partition(true)
		check(r.says(ctx, r.primary, "min_slaves_good_slaves:0"))
		of := r.clients(ctx, TTL)
		of.fail(ctx)
	},
})

type successors struct {
	*replicated
	first, next workers
}

func (r *replicated) clients(ctx context.Context, lease time.Duration) *successors {
	hosts := r.t.Hosts(2)
	at, _ := r.at(nil)
	at.Lease = lease
	of := &successors{r, make(workers), make(workers)}
	of.first.open(ctx, r.t, hosts[0], at)
	of.next.open(ctx, r.t, hosts[1], at)
	return of
}

func (of *successors) fail(ctx context.Context) {
	t := of.t
	t.Each(func(s *Subject) {
		if of.first[s].Acquire(ctx, TTL) == nil {
			s.Note("the primary grants the lock")
		}
	})
	began := t.Now()
	of.promote(ctx)
	t.Each(func(s *Subject) {
		of.next[s].Loop(ctx, ordinary)
		s.await(ctx, 4*TTL, began)
		t.Sleep(ctx, 5*ordinary.Hold)
		if s.holds(of.first[s]) {
			check(of.first[s].WriteHeld(ctx))
		}
	})
}

type workers map[*Subject]*Worker

func (ws workers) open(ctx context.Context, t *Try, h *Host, at harness.Endpoint) {
	var mu sync.Mutex
	t.Each(func(s *Subject) {
		w := h.Open(ctx, s, at)
		mu.Lock()
		defer mu.Unlock()
		ws[s] = w
	})
}

var clockBehind = promotions(Scenario{
	Name:     "redis-promotion-clock-behind",
	Question: "Do tokens rise if the clock of the new primary is behind?",
	Fault:    "the primary is cut off from its replica, whose clock is a minute behind, grants the lock and is killed; the replica is promoted",
	Expect: slices.Concat([]Expectation{
		{redisFenced, []harness.Harm{harness.TwoHolders, harness.Overtaken, harness.TokenFell, harness.StaleWrite}, "tokens go with the counter and the clock of the server, and both fall"},
	}, forgottenPlain),
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{Clock: true}, true)
		check(r.server.SetClock(1, -time.Minute))
		r.link.Partition(true)
		r.promotion(ctx)
	},
})

var coordinated = promotions(Scenario{
	Name:     "redis-failover-coordinated",
	Question: "Is a lock kept through a coordinated failover?",
	Fault:    "FAILOVER TO the replica while the lock is held, which then gets the address of the primary",
	Expect:   keeps("the primary keeps its clients waiting until the replica has all"),
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, false)
		i := t.incident(ctx, r.at)
		host, port := must2(net.SplitHostPort(r.server.Endpoint().Addrs[0][1]))
		began := t.Now()
		t.Fault("FAILOVER")
		check(r.primary.Do(ctx, "FAILOVER", "TO", host, port).Err())
		check(r.says(ctx, r.replica, "role:master"))
		r.move()
		t.Over("the replica is the primary")
		i.outcome(ctx, began)
	},
})

var promotionReplicated = promotions(Scenario{
	Name:     "redis-promotion-replicated",
	Question: "Is a lock kept through the death of a primary whose replica is up to date?",
	Fault:    "the primary is killed while the lock is held, and its replica, which has all, is promoted and gets its address",
	Expect:   keeps("the replica has the lock and its waiters"),
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, false)
		i := t.incident(ctx, r.at)
		r.caughtUp(ctx)
		began := t.Now()
		r.promote(ctx)
		i.outcome(ctx, began)
	},
})

var twoDeaths = promotions(Scenario{
	Name:     "redis-promotion-holder-dead",
	Question: "Is a lock free again after its holder and its server have died?",
	Fault:    "the process of the holder is killed, then the primary, whose replica is up to date and is promoted",
	Expect: []Expectation{
		{"redis-token|redis-redisson12", []harness.Harm{harness.Overtaken, harness.Stall, harness.Stuck}, "nothing ends what its holder left: no lease"},
		published, losesWakeUps, twoPermits,
		{redisOne, nil, "the replica has the lock and its lease, and the clients ask it"},
	},
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, false)
		i := t.incident(ctx, r.at)
		r.caughtUp(ctx)
		i.hosts[0].Kill()
		r.promote(ctx)
		began := t.Now()
		t.Each(func(s *Subject) {
			i.late[s].Loop(ctx, ordinary)
			s.await(ctx, 5*TTL, began)
			t.Sleep(ctx, 5*ordinary.Hold)
		})
	},
})

package chaos

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

type replicated struct {
	t                *Try
	server           *backend.Server // the primary is 0
	primary, replica *redis.Client
	moves            *faultproxy.Proxy // the address
	link             *faultproxy.Proxy // from the replica to the primary
}

// onReplicas starts a primary and replicas for this try only, and calls do. The first
// replica can be cut off from the primary.
func onReplicas(o backend.RedisOptions, do func(ctx context.Context, r *replicated)) func(context.Context, *Try) {
	o.Replicas = max(1, o.Replicas)
	return func(ctx context.Context, t *Try) {
		server := t.Own(ctx, func(ctx context.Context) (*backend.Server, error) { return backend.StartRedisOf(ctx, o) })
		addrs := server.Endpoint().Addrs[0]
		r := &replicated{t: t, server: server, primary: t.Redis(addrs[0]), replica: t.Redis(addrs[1])}
		r.moves = t.proxy(addrs[0], faultproxy.Redis, nil)
		r.link = t.proxy(addrs[0], faultproxy.Unread, nil)
		host, port, _ := strings.Cut(r.link.Addr(), ":")
		check(r.replica.Do(ctx, "REPLICAOF", host, port).Err())
		r.reports(ctx, r.replica, "master_port:"+port, "master_link_status:up")
		t.Until(ctx, "the replicas", func() bool {
			return strings.Count(r.primary.Info(ctx, "replication").Val(), "state=online") == o.Replicas
		})
		do(ctx, r)
	}
}

func (r *replicated) reports(ctx context.Context, c *redis.Client, want ...string) {
	r.t.Until(ctx, strings.Join(want, " and "), func() bool {
		text := c.Info(ctx, "replication").Val()
		return !slices.ContainsFunc(want, func(w string) bool { return !strings.Contains(text, w) })
	})
}

func (r *replicated) at(*Subject) harness.Endpoint {
	return Short(harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{r.moves.Addr()}}})
}

func (r *replicated) caughtUp(ctx context.Context) {
	replicas := len(r.server.PIDs()) - 1
	r.t.Until(ctx, "the replicas", func() bool {
		p := r.primary.Pipeline() // WAIT covers only writes of its own connection
		p.Set(ctx, "caught-up", 1, 0)
		n := p.Do(ctx, "WAIT", replicas, 100)
		_, err := p.Exec(ctx)
		got, _ := n.Int()
		return err == nil && got == replicas
	})
}

func (r *replicated) promote(ctx context.Context) {
	r.t.Fault("the primary is killed")
	check(r.server.Kill(0))
	check(r.replica.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
	r.move()
}

func (r *replicated) move() {
	r.moves.Redirect(r.server.Endpoint().Addrs[0][1])
	r.moves.Reset()
	r.t.Over("the replica is the primary")
}

func (r *replicated) cutAndPromote(ctx context.Context) {
	r.link.Partition(true)
	i := r.t.incident(ctx, r.at)
	r.promote(ctx)
	i.outcome(ctx, i.began)
}

// needs makes the primary refuse writes after a second or two without contact to n replicas.
func (r *replicated) needs(ctx context.Context, n int) {
	check(r.primary.Do(ctx, "CONFIG", "SET", "min-replicas-to-write", n, "min-replicas-max-lag", 1).Err())
}

var redisPromotions = table(Scenario{
	Family: "Redis failover", Locks: redisOne, Deadline: 25 * time.Second, Prompt: 3 * TTL, Tries: 60,
	Source: "Redis documentation, Distributed Locks with Redis, Why failover-based implementations are not enough; Kingsbury 2013, Call me maybe: Redis",
	Tests:  []result.Guarantee{result.Failover, result.Fencing},
}, []Scenario{
	{Name: "redis-promotion-replicated", Takes: 2,
		Question: "Is a lock kept through the death of a primary whose replica is up to date?",
		Fault:    "the primary is killed while the lock is held, and its up-to-date replica is promoted and gets its address",
		Expect:   keeps("the replica has the lock and its waiters"),
		Try: onReplicas(backend.RedisOptions{}, func(ctx context.Context, r *replicated) {
			i := r.t.incident(ctx, r.at)
			r.caughtUp(ctx)
			began := r.t.Now()
			r.promote(ctx)
			i.outcome(ctx, began)
		}),
	},
	{Name: "redis-promotion-cut", Takes: 1, Short: true,
		Question: "Are there two holders after the promotion of a replica without the grant?",
		Fault:    "the primary is cut off from its replica, grants the lock and is killed; the replica is promoted and gets its address",
		Expect:   slices.Concat(forgottenFenced, forgottenPlain),
		Try:      onReplicas(backend.RedisOptions{}, func(ctx context.Context, r *replicated) { r.cutAndPromote(ctx) }),
	},
	{Name: "redis-promotion-release-lost", Takes: 6,
		Question: "What happens to a release that was not replicated?",
		Fault:    "the primary is cut off from its replica while the lock is held, executes the release and is killed; the replica, which still has the lock, is promoted",
		Expect: []Expectation{
			published, losesWakeUps,
			{"redis-token", []oracle.Anomaly{oracle.Overtaken, oracle.Stall, oracle.Stuck}, "the push that returned the element is lost"},
			{redisOne, nil, "the lock is free when the lease on the replica is over"},
		},
		Try: onReplicas(backend.RedisOptions{}, func(ctx context.Context, r *replicated) {
			r.t.incident(ctx, r.at)
			r.caughtUp(ctx)
			// Nothing may be granted before the primary is dead.
			r.t.Each(func(s *Subject) { check(s.next.Stop(ctx)) })
			r.link.Partition(true)
			r.t.Each(func(s *Subject) { releaseWithin(ctx, 2*TTL, s.holders) })
			r.promote(ctx)
			began := r.t.Now()
			r.t.Each(func(s *Subject) { s.next.serve(ctx, 5*TTL, began) })
		}),
	},
	{Name: "redis-promotion-clock-behind", Takes: 2,
		Question: "Do tokens rise if the clock of the new primary is behind?",
		Fault:    "the primary is cut off from its replica, whose clock is a minute behind, grants the lock and is killed; the replica is promoted",
		Expect: slices.Concat([]Expectation{
			{redisFenced, []oracle.Anomaly{oracle.TwoHolders, oracle.Overtaken, oracle.TokenFell, oracle.StaleWrite}, "tokens depend on the counter and the clock of the server, and both fall"},
		}, forgottenPlain),
		Try: onReplicas(backend.RedisOptions{Clock: true}, func(ctx context.Context, r *replicated) {
			check(r.server.SetClock(1, -time.Minute))
			r.cutAndPromote(ctx)
		}),
	},
	{Name: "redis-failover-coordinated", Takes: 7,
		Question: "Is a lock kept through a coordinated failover?",
		Fault:    "FAILOVER TO the replica while the lock is held; the replica then gets the address of the primary",
		Expect:   keeps("the primary blocks its clients until the replica has all data"),
		Try: onReplicas(backend.RedisOptions{}, func(ctx context.Context, r *replicated) {
			// The primary knows a replica by its own address.
			host, port, _ := strings.Cut(r.server.Endpoint().Addrs[0][1], ":")
			i := r.t.incident(ctx, r.at)
			began := r.t.Now()
			r.t.Fault("FAILOVER")
			check(r.primary.Do(ctx, "FAILOVER", "TO", host, port).Err())
			r.reports(ctx, r.replica, "role:master")
			r.move()
			i.outcome(ctx, began)
		}),
	},
})

// onWait makes the clients acquire the lock once before the first replica is cut off;
// prepare may then change the configuration of the primary.
func onWait(replicas int, prepare func(ctx context.Context, r *replicated)) func(context.Context, *Try) {
	return onReplicas(backend.RedisOptions{Replicas: replicas}, func(ctx context.Context, r *replicated) {
		t, hosts, at := r.t, r.t.Hosts(2), r.at(nil)
		at.Lease = 3 * TTL // outlives a promotion on a busy machine
		t.Each(func(s *Subject) {
			s.holders, s.next = []*Worker{hosts[0].Open(ctx, s, at)}, hosts[1].Open(ctx, s, at)
			warm(ctx, s.holders[0], s.next)
		})
		r.caughtUp(ctx)
		t.Fault("the replica that will be promoted is cut off")
		r.link.Partition(true)
		prepare(ctx, r)
		t.Each(func(s *Subject) {
			if s.holders[0].Acquire(ctx, TTL) == nil {
				s.Note("the primary grants the lock")
			}
		})
		began := t.Now()
		r.promote(ctx)
		t.Each(func(s *Subject) {
			s.next.serve(ctx, 4*TTL, began)
			if w := s.holders[0]; s.holds(w) {
				check(w.WriteHeld(ctx))
			}
		})
	})
}

// redisWaits test WAIT: clients require the confirmation of replicas before they consider
// a lock theirs.
var redisWaits = table(Scenario{
	Family: "Redis WAIT", Locks: "redis-wait|redis-poll-5ms", Deadline: 25 * time.Second, Prompt: 3 * TTL, Tries: 60,
	Source: "Redis documentation, WAIT, Consistency and WAIT, and Replication, Allow writes only with N attached replicas",
	Tests:  []result.Guarantee{result.Failover, result.Fencing},
}, []Scenario{
	{Name: "redis-wait-cut", Takes: 2,
		Question: "Does WAIT prevent two holders when the only replica does not receive the grant?",
		Fault:    "the primary is cut off from its only replica; a client asks it for the lock for a second; then it is killed and the replica is promoted",
		Expect: []Expectation{
			{"redis-wait", nil, "no replica confirms the grant, and the client gives it back"},
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the replica does not have the grant"},
		},
		Try: onWait(1, func(context.Context, *replicated) {}),
	},
	{Name: "redis-wait-other-replica", Takes: 1,
		Question: "Does WAIT with min-replicas-to-write prevent two holders if the new primary has not confirmed the grant?",
		Fault:    "the primary, with min-replicas-to-write 1, is cut off from one of two replicas, and grants the lock, which the other one confirms; then it is killed and the replica that was cut off is promoted",
		Expect: []Expectation{
			{"redis-wait", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "a majority has confirmed the grant and one replica is enough for the primary, but nothing makes that replica its successor"},
			{".*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the replica does not have the grant"},
		},
		Try: onWait(2, func(ctx context.Context, r *replicated) { r.needs(ctx, 1) }),
	},
	{Name: "redis-wait-all-replicas", Takes: 4,
		Question: "Does min-replicas-to-write for all replicas prevent the two holders that WAIT for a majority allows?",
		Fault:    "the primary, with min-replicas-to-write 2 and a lag of a second, is cut off from one of two replicas; once it has noticed that, a client asks it for the lock for a second; then it is killed and the replica that was cut off is promoted",
		Expect: []Expectation{
			{"redis-wait", nil, "the primary refuses every write (NOREPLICAS) until all replicas are back"},
			{".*", nil, "the primary refuses the write (NOREPLICAS), and the client does not hold the lock"},
		},
		Try: onWait(2, func(ctx context.Context, r *replicated) {
			r.needs(ctx, 2)
			r.reports(ctx, r.primary, "min_slaves_good_slaves:1")
		}),
	},
})

package chaos

import (
	"context"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/backend"
	"locklab/internal/faultproxy"
)

var redisPromotions = []*Scenario{
	promotionReplicated, promotionAtOnce, promotionCut, releaseLost, minReplicasEarly, minReplicas, clockBehind, coordinated, twoDeaths,
}

type replicated struct {
	t                *Try
	server           *backend.Server // the primary is 0
	primary, replica *redis.Client
	moves            *faultproxy.Proxy // the address
	link             *faultproxy.Proxy // proxy from the replica to the primary; nil if directly connected
}

// replicated starts servers for this try only, with one replica by default. If linked is
// set, the first replica can be cut off from the primary.
func (t *Try) replicated(ctx context.Context, o backend.RedisOptions, linked bool) *replicated {
	o.Replicas = max(1, o.Replicas)
	server := must(t.Own(ctx, func(ctx context.Context) (*backend.Server, error) { return backend.StartRedisOf(ctx, o) }))
	addrs := server.Endpoint().Addrs[0]
	r := &replicated{t: t, server: server, primary: t.Redis(addrs[0]), replica: t.Redis(addrs[1])}
	r.moves = must(t.proxy(addrs[0], faultproxy.Redis))
	if !linked {
		return r
	}
	r.link = must(t.proxy(addrs[0], faultproxy.Unread))
	host, port := must2(net.SplitHostPort(r.link.Addr()))
	check(r.replica.Do(ctx, "REPLICAOF", host, port).Err())
	check(r.says(ctx, r.replica, "master_port:"+port, "master_link_status:up"))
	check(t.Until(ctx, "the replicas", func() bool {
		return strings.Count(r.primary.Info(ctx, "replication").Val(), "state=online") == o.Replicas
	}))
	return r
}

func (t *Try) proxy(to string, framing func() faultproxy.Framing) (*faultproxy.Proxy, error) {
	p, err := faultproxy.New(to, framing, faultproxy.Options{})
	if err != nil {
		return nil, fmt.Errorf("chaos: %w", err)
	}
	t.Defer(func() { p.Close() })
	return p, nil
}

func (r *replicated) says(ctx context.Context, c *redis.Client, want ...string) error {
	return r.t.Until(ctx, strings.Join(want, " and "), func() bool {
		text := c.Info(ctx, "replication").Val()
		for _, w := range want {
			if !strings.Contains(text, w) {
				return false
			}
		}
		return true
	})
}

func (r *replicated) at(*Subject) (harness.Endpoint, error) {
	return Short(harness.Endpoint{Kind: harness.KindRedis, Addrs: [][]string{{r.moves.Addr()}}}), nil
}

func (r *replicated) caughtUp(ctx context.Context) {
	replicas := len(r.server.PIDs()) - 1
	check(r.t.Until(ctx, "the replicas", func() bool {
		p := r.primary.Pipeline() // WAIT covers only writes of its own connection
		p.Set(ctx, "caught-up", 1, 0)
		n := p.Do(ctx, "WAIT", replicas, 100)
		_, err := p.Exec(ctx)
		got, _ := n.Int()
		return err == nil && got == replicas
	}))
}

func (r *replicated) promote(ctx context.Context) {
	r.t.Fault("the primary is killed")
	check(r.server.Kill(0))
	check(r.replica.Do(ctx, "REPLICAOF", "NO", "ONE").Err())
	r.move()
	r.t.Over("the replica is the primary")
}

func (r *replicated) move() {
	r.moves.Redirect(r.server.Endpoint().Addrs[0][1])
	r.moves.Reset()
}

const lateGrants = "Redis documentation, Distributed Locks with Redis, Why failover-based implementations are not enough; Kingsbury 2013, Call me maybe: Redis"

func promotions(s Scenario) *Scenario {
	s.Source = lateGrants
	s.Tests = []harness.Guarantee{harness.Failover, harness.Fencing}
	if s.Locks == "" {
		s.Locks = redisOne
	}
	s.Deadline = 25 * time.Second
	s.Prompt = 3 * TTL
	s.Tries = 50
	return &s
}

var promotionCut = promotions(Scenario{
	Name:     "redis-promotion-cut",
	Short:    2,
	Question: "Are there two holders after a replica was promoted that had not heard of the grant?",
	Fault:    "the primary is cut off from its replica, grants the lock and is killed; the replica is promoted and gets its address",
	Expect:   slices.Concat(forgottenFenced, forgottenPlain),
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, true)
		r.link.Partition(true)
		r.promotion(ctx)
	},
})

func (r *replicated) promotion(ctx context.Context) {
	i := r.t.incident(ctx, r.at)
	began := r.t.Now()
	r.promote(ctx)
	i.outcome(ctx, began)
}

// promotionAtOnce differs between holders: the reply and the replication message leave
// the primary one after the other.
var promotionAtOnce = promotions(Scenario{
	Name:     "redis-promotion-at-once",
	Question: "Are there two holders after the primary died right after a grant?",
	Fault:    "the primary is killed as soon as it has granted the lock, and its replica is promoted and gets its address",
	Expect: []Expectation{
		{"redis-queue", []harness.Harm{harness.TwoHolders, harness.Overtaken}, "the replica may not have heard of the grant; tokens go with the clock besides"},
		{"redis-(reentrant|poll-5ms)|redsync-1ms|bsm-redislock-1ms", []harness.Harm{harness.TwoHolders, harness.StaleWrite}, "the replica may not have heard of the grant"},
	},
	Locks: "redis-(queue|reentrant|poll-5ms)|redsync-1ms|bsm-redislock-1ms",
	Alone: true,
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, false)
		check(r.replica.Ping(ctx).Err())
		hosts := t.Hosts(2)
		s := t.Subjects[0]
		at, _ := r.at(s)
		i := &incident{t: t, hosts: hosts, of: map[*Subject]*pair{s: new(pair)}, late: make(map[*Subject]*Worker)}
		p := i.of[s]
		for range max(1, s.Variant.Traits.Permits) {
			w := hosts[0].Open(ctx, s, at)
			p.holders = append(p.holders, w)
		}
		p.next = hosts[1].Open(ctx, s, at)
		i.late[s] = hosts[1].Open(ctx, s, at)
		for _, w := range p.holders {
			check(w.Acquire(ctx, 0))
		}
		began := t.Now()
		r.promote(ctx)
		p.next.Loop(ctx, ordinary)
		i.outcome(ctx, began)
	},
})

var releaseLost = promotions(Scenario{
	Name:     "redis-promotion-release-lost",
	Question: "What becomes of a release that was not replicated?",
	Fault:    "the primary is cut off from its replica while the lock is held, is told of the release and is killed; the replica, which still has the lock, is promoted",
	Expect: []Expectation{
		published, losesWakeUps,
		{"redis-token", []harness.Harm{harness.Overtaken, harness.Stall, harness.Stuck}, "the push that gave it back is lost"},
		{redisOne, nil, "the lock is free when the lease that the replica knows of is over"},
	},
	Try: func(ctx context.Context, t *Try) {
		r := t.replicated(ctx, backend.RedisOptions{}, true)
		i := t.incident(ctx, r.at)
		r.caughtUp(ctx)
		// Nothing may be granted before the primary is dead.
		i.eachNext(ctx, func(ctx context.Context, w *Worker) { check(w.Stop(ctx)) })
		r.link.Partition(true)
		t.Each(func(s *Subject) { i.release(ctx, i.of[s].holders) })
		r.promote(ctx)
		began := t.Now()
		i.eachNext(ctx, func(ctx context.Context, w *Worker) { w.Loop(ctx, ordinary) })
		t.Each(func(s *Subject) {
			s.await(ctx, 5*TTL, began)
			t.Sleep(ctx, 5*ordinary.Hold)
		})
	},
})

func (i *incident) eachNext(ctx context.Context, f func(context.Context, *Worker)) {
	i.t.Each(func(s *Subject) { f(ctx, i.of[s].next) })
}

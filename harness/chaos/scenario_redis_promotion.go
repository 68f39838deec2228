package chaos

import (
	"context"
	"errors"
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
func (t *Try) replicated(ctx context.Context, o backend.RedisOptions, linked bool) (*replicated, error) {
	o.Replicas = max(1, o.Replicas)
	server, err := t.Own(ctx, func(ctx context.Context) (*backend.Server, error) { return backend.StartRedisOf(ctx, o) })
	if err != nil {
		return nil, err
	}
	addrs := server.Endpoint().Addrs[0]
	r := &replicated{t: t, server: server, primary: t.Redis(addrs[0]), replica: t.Redis(addrs[1])}
	if r.moves, err = t.proxy(addrs[0], faultproxy.Redis); err != nil || !linked {
		return r, err
	}
	if r.link, err = t.proxy(addrs[0], faultproxy.Unread); err != nil {
		return nil, err
	}
	host, port, err := net.SplitHostPort(r.link.Addr())
	if err == nil {
		err = r.replica.Do(ctx, "REPLICAOF", host, port).Err()
	}
	if err != nil {
		return nil, err
	}
	err = r.says(ctx, r.replica, "master_port:"+port, "master_link_status:up")
	return r, errors.Join(err, t.Until(ctx, "the replicas", func() bool {
		return strings.Count(r.primary.Info(ctx, "replication").Val(), "state=online") == o.Replicas
	}))
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

func (r *replicated) caughtUp(ctx context.Context) error {
	replicas := len(r.server.PIDs()) - 1
	return r.t.Until(ctx, "the replicas", func() bool {
		p := r.primary.Pipeline() // WAIT covers only writes of its own connection
		p.Set(ctx, "caught-up", 1, 0)
		n := p.Do(ctx, "WAIT", replicas, 100)
		_, err := p.Exec(ctx)
		got, _ := n.Int()
		return err == nil && got == replicas
	})
}

func (r *replicated) promote(ctx context.Context) error {
	r.t.Fault("the primary is killed")
	if err := r.server.Kill(0); err != nil {
		return err
	}
	if err := r.replica.Do(ctx, "REPLICAOF", "NO", "ONE").Err(); err != nil {
		return err
	}
	r.move()
	r.t.Over("the replica is the primary")
	return nil
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
	Try: func(ctx context.Context, t *Try) error {
		r, err := t.replicated(ctx, backend.RedisOptions{}, true)
		if err != nil {
			return err
		}
		r.link.Partition(true)
		return r.promotion(ctx)
	},
})

func (r *replicated) promotion(ctx context.Context) error {
	i, err := r.t.incident(ctx, r.at)
	if err != nil {
		return err
	}
	began := r.t.Now()
	if err := r.promote(ctx); err != nil {
		return err
	}
	return i.outcome(ctx, began)
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
	Try: func(ctx context.Context, t *Try) error {
		r, err := t.replicated(ctx, backend.RedisOptions{}, false)
		if err != nil {
			return err
		}
		if err := r.replica.Ping(ctx).Err(); err != nil { // so that it is connected
			return err
		}
		hosts, err := t.Hosts(2)
		if err != nil {
			return err
		}
		s := t.Subjects[0]
		at, _ := r.at(s)
		i := &incident{t: t, hosts: hosts, of: map[*Subject]*pair{s: new(pair)}, late: make(map[*Subject]*Worker)}
		p := i.of[s]
		for range max(1, s.Variant.Traits.Permits) {
			w, err := hosts[0].Open(ctx, s, at)
			if err != nil {
				return err
			}
			p.holders = append(p.holders, w)
		}
		if p.next, err = hosts[1].Open(ctx, s, at); err != nil {
			return err
		}
		if i.late[s], err = hosts[1].Open(ctx, s, at); err != nil {
			return err
		}
		for _, w := range p.holders {
			if err := w.Acquire(ctx, 0); err != nil {
				return err
			}
		}
		began := t.Now()
		if err := r.promote(ctx); err != nil {
			return err
		}
		if err := p.next.Loop(ctx, ordinary); err != nil {
			return err
		}
		return i.outcome(ctx, began)
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
	Try: func(ctx context.Context, t *Try) error {
		r, err := t.replicated(ctx, backend.RedisOptions{}, true)
		if err != nil {
			return err
		}
		i, err := t.incident(ctx, r.at)
		if err != nil {
			return err
		}
		if err := r.caughtUp(ctx); err != nil {
			return err
		}
		// Nothing may be granted before the primary is dead.
		err = i.eachNext(ctx, func(ctx context.Context, w *Worker) error { return w.Stop(ctx) })
		if err != nil {
			return err
		}
		r.link.Partition(true)
		if err := t.Each(func(s *Subject) error { i.release(ctx, i.of[s].holders); return nil }); err != nil {
			return err
		}
		if err := r.promote(ctx); err != nil {
			return err
		}
		began := t.Now()
		if err := i.eachNext(ctx, func(ctx context.Context, w *Worker) error { return w.Loop(ctx, ordinary) }); err != nil {
			return err
		}
		return t.Each(func(s *Subject) error {
			s.await(ctx, 5*TTL, began)
			t.Sleep(ctx, 5*ordinary.Hold)
			return nil
		})
	},
})

func (i *incident) eachNext(ctx context.Context, f func(context.Context, *Worker) error) error {
	return i.t.Each(func(s *Subject) error { return f(ctx, i.of[s].next) })
}

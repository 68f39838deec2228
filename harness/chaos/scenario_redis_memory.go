package chaos

import (
	"context"
	"errors"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/backend"
)

var redisMemory = []*Scenario{
	forget("redis-flushall", "What does FLUSHALL do to locks that are held?", "FLUSHALL while the lock is held",
		func(ctx context.Context, c *redis.Client) { check(c.FlushAll(ctx).Err()) }),
	forget("redis-evicted", "What do locks do on a server that evicts keys?",
		"the server, whose policy is allkeys-lru, runs out of memory for a moment while the lock is held, and evicts all keys",
		func(ctx context.Context, c *redis.Client) {
			check(errors.Join(
				c.ConfigSet(ctx, "maxmemory-policy", "allkeys-lru").Err(),
				c.ConfigSet(ctx, "maxmemory", "1").Err(),
				c.ConfigSet(ctx, "maxmemory", "0").Err(),
				c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(),
			))
		}),
	scriptFlush, outOfMemory, maxClients, denied,
}

func onHeld(do func(ctx context.Context, i *incident, c *redis.Client)) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		f := t.fleet(ctx, backend.RedisOptions{})
		c := t.Redis(f.first())
		check(c.Ping(ctx).Err())
		i := t.incident(ctx, f.at)
		began := t.Now()
		do(ctx, i, c)
		i.outcome(ctx, began)
	}
}

func forget(name, question, fault string, do func(context.Context, *redis.Client)) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault + "; of three independent servers, one",
		Source:   "Redis documentation, Key eviction; FLUSHALL",
		Tests:    []harness.Guarantee{harness.Fencing},
		Locks:    redisAll,
		Expect:   forgotten,
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    200,
		Try: onHeld(func(ctx context.Context, i *incident, c *redis.Client) {
			i.t.Fault("the server forgets all keys")
			defer i.t.Over("it serves")
			do(ctx, c)
		}),
	}
}

var scriptFlush = &Scenario{
	Name:     "redis-script-flush",
	Question: "Do locks miss the scripts that the server has forgotten?",
	Fault:    "SCRIPT FLUSH while the lock is held",
	Source:   "Redis documentation, Scripting with Lua, Cache volatility",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisAll,
	Expect:   keeps("a client that is told NOSCRIPT sends the script"),
	Deadline: 20 * time.Second,
	Tries:    200,
	Try: onHeld(func(ctx context.Context, i *incident, c *redis.Client) {
		i.t.Fault("the server forgets all scripts")
		defer i.t.Over("it serves")
		check(c.ScriptFlush(ctx).Err())
	}),
}

const refusedFigure = "releases refused"

var outOfMemory = &Scenario{
	Name:     "redis-out-of-memory",
	Question: "Can a lock be renewed and released on a server that has no memory left?",
	Fault:    "maxmemory of the server, whose policy is noeviction, is one byte for longer than the lease; the holders release their locks meanwhile",
	Source:   "Redis documentation, Key eviction",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisAll,
	Expect: []Expectation{
		{"redis-token", []harness.Harm{harness.Overtaken, harness.Stall, harness.Stuck}, "the push that gives it back is refused, and then it is lost"},
		published, losesWakeUps, twoPermits,
		{redisAll, nil, "new locks are refused; what renews and releases them takes no memory"},
	},
	Deadline: 20 * time.Second,
	Prompt:   2 * TTL,
	Tries:    100,
	Aims: []Aim{
		{"redis-(queue|reentrant|rw|semaphore|multi|cohort)", harness.FaultAim{Figure: refusedFigure, Quantile: 1, Limit: 0, Text: "none"}},
	},
	Try: onHeld(func(ctx context.Context, i *incident, c *redis.Client) {
		i.t.Fault("the server has no memory left")
		i.t.Defer(func() { c.ConfigSet(context.Background(), "maxmemory", "0") })
		check(errors.Join(c.ConfigSet(ctx, "maxmemory-policy", "noeviction").Err(), c.ConfigSet(ctx, "maxmemory", "1").Err()))
		i.t.Sleep(ctx, TTL+TTL/3)
		i.t.Each(func(s *Subject) {
			refused := 0.0
			for _, w := range i.of[s].holders {
				if s.holds(w) && w.Release(ctx) != nil {
					refused++
				}
			}
			s.Figure(refusedFigure, "", refused)
		})
		i.t.Over("it has memory")
		check(c.ConfigSet(ctx, "maxmemory", "0").Err())
	}),
}

var maxClients = &Scenario{
	Name:     "redis-maxclients",
	Question: "What becomes of locks whose clients cannot connect?",
	Fault:    "maxclients of the server is one for up to two leases and all connections are cut (CLIENT KILL), so that new ones are refused; not for rueidislock, whose client library v1.0.79 panics at that",
	Source:   "Redis documentation, Redis client handling, Maximum concurrent connected clients",
	Tests:    []harness.Guarantee{harness.Fencing},
	Locks:    redisGo,
	Expect: []Expectation{
		published, twoPermits,
		tokenOrder,
		{redisGo, nil, "a holder that cannot renew its lease is told before the server forgets it"},
	},
	Deadline: 20 * time.Second,
	Prompt:   3 * TTL,
	Tries:    100,
	Try: onHeld(func(ctx context.Context, i *incident, c *redis.Client) {
		const usual = "10000"
		i.t.Fault("the server takes no more clients")
		i.t.Defer(func() { c.ConfigSet(context.Background(), "maxclients", usual) })
		check(c.ConfigSet(ctx, "maxclients", "1").Err())
		for _, kind := range []string{"normal", "pubsub"} {
			check(c.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes").Err())
		}
		i.t.Sleep(ctx, time.Duration(i.t.Rand.Int64N(int64(2*TTL))))
		i.t.Over("it takes clients")
		check(c.ConfigSet(ctx, "maxclients", usual).Err())
	}),
}

const secretFigure = "passwords in errors"

var denied = &Scenario{
	Name:     "redis-acl-denied",
	Question: "Is a client told at once that its user may not lock?",
	Fault:    "the client connects as a user that may do nothing else (ACL), or with a wrong password, and locks",
	Source:   "Redis documentation, ACL",
	Locks:    redisAll,
	Expect: []Expectation{
		{"redsync-1ms|rueidislock.*", []harness.Harm{harness.Stall}, "it asks again whatever the server says"},
		{redisAll, nil, "an error that asking again does not change ends Lock"},
	},
	Deadline: 20 * time.Second,
	Prompt:   20 * time.Second, // the lock is free, and still refused
	Tries:    50,
	Aims: []Aim{
		{redisAll, harness.FaultAim{Figure: secretFigure, Quantile: 1, Limit: 0, Text: "none"}},
	},
	Try: func(ctx context.Context, t *Try) {
		f := t.fleet(ctx, backend.RedisOptions{})
		const user, secret = "outsider", "hunter2hunter2"
		for _, server := range f {
			c := t.Redis(server.Endpoint().Addrs[0][0])
			check(c.Do(ctx, "ACL", "SETUSER", user, "reset", "on", ">"+secret, "~*", "&*", "+@connection").Err())
		}
		host := t.Host()
		t.Each(func(s *Subject) {
			at := must(f.at(s))
			at.Username, at.Password = user, secret
			s.beDenied(ctx, host, at)
		})
	},
}

func (s *Subject) beDenied(ctx context.Context, host *Host, at harness.Endpoint) {
	w := host.Open(ctx, s, at)
	began := time.Now()
	said := []error{w.Acquire(ctx, 2*TTL)}
	if said[0] == nil {
		check(errors.New("chaos: the user may lock"))
	}
	if errors.Is(said[0], context.DeadlineExceeded) {
		s.Show(harness.Stall, "Lock waited for %v, to its end, for what the server had refused: %v", time.Since(began).Round(time.Millisecond), said[0])
	}
	secret := at.Password
	at.Password = "not-" + secret
	if _, err := host.open(ctx, s, at, -1); err != nil {
		said = append(said, err)
	} else {
		s.Note("a client with a wrong password connects")
	}
	told := 0.0
	for _, err := range said {
		if strings.Contains(err.Error(), secret) {
			told++
			s.Note("an error has the password in it")
		}
	}
	s.Figure(secretFigure, "", told)
}

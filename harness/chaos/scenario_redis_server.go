package chaos

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/backend"
)

var redisServerScenarios = slices.Concat(redisRestarts, redisOutages, redisStates, redisClocks)

// onFleet makes each lock held and waited for on independent servers, and calls do.
func onFleet(o backend.RedisOptions, do func(ctx context.Context, i *incident)) func(context.Context, *Try) {
	return func(ctx context.Context, t *Try) {
		f := t.fleet(ctx, o)
		c := t.Redis(f.first())
		check(c.Ping(ctx).Err()) // connects before the fault
		i := t.incident(ctx, f.at)
		i.fleet, i.admin = f, c
		do(ctx, i)
	}
}

var redisRestarts = table(Scenario{
	Family: "Redis restart", Locks: redisAll, Deadline: 20 * time.Second, Prompt: 2 * TTL, Tries: 100,
	Source: "Redis documentation, Redis persistence",
	Tests:  []result.Guarantee{result.Failover, result.Fencing},
}, []Scenario{
	{Name: "redis-restart-empty", Takes: 3, Tries: 200, Short: true,
		Question: "Does a server that forgets its locks in a restart grant them twice?",
		Fault:    "the server, which keeps nothing on disk, is killed (SIGKILL) and started again at once while the lock is held; of three independent servers, one",
		Source:   "Redis documentation, Distributed Locks with Redis, Performance, crash recovery and fsync",
		Expect:   forgotten,
		Try:      onFleet(backend.RedisOptions{Persistence: backend.None}, restart),
	},
	{Name: "redis-restart-everysec", Takes: 3,
		Question: "Does an append-only file that is synced once a second keep locks through a restart?",
		Fault:    "the server, which keeps an append-only file (appendfsync everysec), is killed (SIGKILL) and started again at once while the lock is held; the kernel keeps written data, so this is no power failure",
		Expect:   keeps("the server still has the lock and its waiters"),
		Try:      onFleet(backend.RedisOptions{Persistence: backend.EverySecond}, restart),
	},
	{Name: "redis-restart-loading", Takes: 5, Tries: 60, Deadline: 25 * time.Second, Prompt: 4 * TTL,
		Question: "What happens to locks while a restarted server loads its data?",
		Fault:    "the server, which keeps an append-only file, is killed while the lock is held and started again, and loads the file for longer than the lease (key-load-delay)",
		Locks:    redisOne,
		Expect:   keeps("the server refuses (LOADING), the holder is notified when its lease is over, and the loaded lease is over too"),
		Try: onFleet(backend.RedisOptions{Persistence: backend.EverySecond, Args: []string{"--key-load-delay", "250"}}, func(ctx context.Context, i *incident) {
			fill := i.admin.Pipeline()
			for k := range 6000 { // at 250 us each, takes one and a half leases to load
				fill.Set(ctx, fmt.Sprint("large:", k), k, 0)
			}
			must(fill.Exec(ctx))
			restart(ctx, i)
		}),
	},
})

func restart(ctx context.Context, i *incident) {
	i.t.Fault("server 0 is killed")
	check(i.fleet[0].Kill(0))
	check(i.fleet[0].Restart(ctx, 0))
	i.t.Over("it serves again")
	i.outcome(ctx, i.began)
}

var redisOutages = table(Scenario{
	Family: "Redis server lost", Locks: redisAll, Deadline: 20 * time.Second, Prompt: 2 * TTL, Tries: 60,
	Source: "Redis documentation, Distributed Locks with Redis, The Redlock Algorithm",
	Tests:  []result.Guarantee{result.Failover},
	Expect: []Expectation{
		{"redis-redlock", nil, "two of its three servers are a majority"},
		published,
		{redisOne, []oracle.Anomaly{oracle.Stall, oracle.Stuck}, "there is no other server"},
	},
}, []Scenario{
	{Name: "redis-server-killed", Takes: 9,
		Question: "Does a lock outlive the death of a Redis server?",
		Fault:    "the server is killed (SIGKILL) for good while the lock is held; of three independent servers, one",
		Try: onFleet(backend.RedisOptions{}, func(ctx context.Context, i *incident) {
			i.lose(ctx, i.fleet[0].Kill(0), func(ctx context.Context) error { return i.fleet[0].Restart(ctx, 0) })
		}),
	},
	{Name: "redis-server-hung", Takes: 10,
		Question: "Does a lock outlive a Redis server that hangs?",
		Fault:    "the server is stopped (SIGSTOP) for good while the lock is held, so that connections to it stay open; of three independent servers, one",
		Try: onFleet(backend.RedisOptions{}, func(ctx context.Context, i *incident) {
			i.lose(ctx, i.fleet[0].Signal(0, syscall.SIGSTOP), func(context.Context) error { return i.fleet[0].Signal(0, syscall.SIGCONT) })
		}),
	},
	{Name: "redis-stopped-long", Takes: 5, Tries: 100, Prompt: 4 * TTL, // a lease of an earlier request may have to expire
		Question: "Are there two holders after a server that hung for longer than the lease?",
		Fault:    "the server is stopped (SIGSTOP) for two and a half leases while the lock is held, and continued; of three independent servers, one",
		Source:   "Kleppmann 2016, How to do distributed locking",
		Expect: []Expectation{
			published, losesWakeUps,
			{"redis-(queue|rw|semaphore|multi|token)", []oracle.Anomaly{oracle.Overtaken}, "an answer later than the lease is no grant: the waiter gives it back and rejoins the end of the queue; a client joins the queue only when the server reads its request"},
			{redisAll, nil, "the lease ends by the clock, and its holder counts it from before its request"},
		},
		Try: onFleet(backend.RedisOptions{}, func(ctx context.Context, i *incident) {
			i.t.Fault("server 0 does not answer")
			check(i.fleet[0].Signal(0, syscall.SIGSTOP))
			time.Sleep(TTL * 5 / 2) // not interrupted: the next try needs the server
			check(i.fleet[0].Signal(0, syscall.SIGCONT))
			i.t.Over("server 0 answers")
			i.outcome(ctx, i.t.Now())
		}),
	},
})

func forget(do func(*redis.Client, context.Context) *redis.StatusCmd) func(context.Context, *Try) {
	return onFleet(backend.RedisOptions{}, func(ctx context.Context, i *incident) {
		i.t.Fault("the server forgets")
		check(do(i.admin, ctx).Err())
		i.t.Over("it serves")
		i.outcome(ctx, i.began)
	})
}

// configured gives a setting of the server a bad value while during is called.
func configured(fault, setting, bad, usual string, during func(ctx context.Context, i *incident)) func(context.Context, *Try) {
	return onFleet(backend.RedisOptions{}, func(ctx context.Context, i *incident) {
		i.t.Fault("%s", fault)
		i.t.Defer(func() { i.admin.ConfigSet(context.Background(), setting, usual) })
		check(i.admin.ConfigSet(ctx, setting, bad).Err())
		during(ctx, i)
		i.t.Over("%s", fault)
		check(i.admin.ConfigSet(ctx, setting, usual).Err())
		i.outcome(ctx, i.began)
	})
}

// lose observes the loss of the first server for the rest of the try. err is the error of
// causing it, and mend undoes it for the next try.
func (i *incident) lose(ctx context.Context, err error, mend func(context.Context) error) {
	i.t.Fault("server 0 is lost")
	i.t.Defer(func() {
		ctx, cancel := context.WithTimeout(context.Background(), DefaultPrompt*10)
		defer cancel()
		if mend(ctx) != nil {
			i.t.Stage.drop("redis 0")
		}
	})
	check(err)
	i.outcome(ctx, i.began)
}

const (
	refusedFigure = "releases refused"
	secretFigure  = "passwords in errors"
)

var redisStates = table(Scenario{
	Family: "Redis server state", Locks: redisAll, Deadline: 20 * time.Second, Prompt: 2 * TTL, Tries: 100,
	Tests: []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "redis-flushall", Takes: 3, Tries: 200,
		Question: "What does FLUSHALL do to locks that are held?",
		Fault:    "FLUSHALL while the lock is held; of three independent servers, one",
		Source:   "Redis documentation, Key eviction; FLUSHALL",
		Expect:   forgotten,
		Try:      forget((*redis.Client).FlushAll),
	},
	{Name: "redis-script-flush", Takes: 3, Tries: 200, Prompt: DefaultPrompt,
		Question: "Do locks miss the scripts that the server has forgotten?",
		Fault:    "SCRIPT FLUSH while the lock is held",
		Source:   "Redis documentation, Scripting with Lua, Cache volatility",
		Expect:   keeps("a client that receives NOSCRIPT sends the script"),
		Try:      forget((*redis.Client).ScriptFlush),
	},
	{Name: "redis-out-of-memory", Takes: 8,
		Question: "Can a lock be renewed and released on a server that has no memory left?",
		Fault:    "maxmemory of the server, whose policy is noeviction, is one byte for longer than the lease; the holders release their locks meanwhile",
		Source:   "Redis documentation, Key eviction",
		Expect: []Expectation{
			{"redis-token", []oracle.Anomaly{oracle.Overtaken, oracle.Stall, oracle.Stuck}, "the push that returns the element is refused, and the element is lost"},
			published, losesWakeUps, twoPermits,
			{redisAll, nil, "new locks are refused; their renewal and release take no memory"},
		},
		Aims: []Aim{{redisRecommended, result.FaultAim{Figure: refusedFigure, Quantile: 1, Limit: 0, Text: "none"}}},
		Try: configured("the server has no memory left", "maxmemory", "1", "0", func(ctx context.Context, i *incident) {
			i.t.Sleep(ctx, TTL+TTL/3)
			i.t.Each(func(s *Subject) {
				refused := 0.0
				for _, w := range s.holders {
					if s.holds(w) && w.Release(ctx) != nil {
						refused++
					}
				}
				s.Figure(refusedFigure, "", refused)
			})
		}),
	},
	{Name: "redis-maxclients", Takes: 4, Prompt: 3 * TTL,
		Question: "What happens to locks whose clients cannot connect?",
		Fault:    "maxclients of the server is one for up to two leases and all connections are cut (CLIENT KILL), so that new ones are refused; not for rueidislock, whose client library v1.0.79 panics at that",
		Source:   "Redis documentation, Redis client handling, Maximum concurrent connected clients",
		Locks:    redisGo,
		Expect: []Expectation{
			published, twoPermits, tokenOrder,
			{redisGo, nil, "a holder that cannot renew its lease is notified before the lease ends"},
		},
		Try: configured("the server takes no more clients", "maxclients", "1", "10000", func(ctx context.Context, i *incident) {
			for _, kind := range []string{"normal", "pubsub"} {
				check(i.admin.ClientKillByFilter(ctx, "TYPE", kind, "SKIPME", "yes").Err())
			}
			i.t.random(ctx, 2*TTL)
		}),
	},
	{Name: "redis-acl-denied", Takes: 3, Tries: 50, Prompt: 20 * time.Second, // the lock is free, and still refused
		Question: "Does Lock fail at once if its user has no permission?",
		Fault:    "the client connects as a user that may only connect (ACL), or with a wrong password, and locks",
		Source:   "Redis documentation, ACL",
		Tests:    []result.Guarantee{},
		Expect: []Expectation{
			{"redsync-1ms|rueidislock.*", []oracle.Anomaly{oracle.Stall}, "it asks again after any error"},
			{redisAll, nil, "Lock returns an error that a repetition cannot change"},
		},
		Aims: []Aim{{redisAll, result.FaultAim{Figure: secretFigure, Quantile: 1, Limit: 0, Text: "none"}}},
		Try: func(ctx context.Context, t *Try) {
			f := t.fleet(ctx, backend.RedisOptions{})
			const user, secret = "outsider", "hunter2hunter2"
			for _, server := range f {
				c := t.Redis(server.Endpoint().Addrs[0][0])
				check(c.Do(ctx, "ACL", "SETUSER", user, "reset", "on", ">"+secret, "~*", "&*", "+@connection").Err())
			}
			host := t.Host()
			t.Each(func(s *Subject) {
				at := f.at(s)
				at.Username, at.Password = user, secret
				s.beDenied(ctx, host, at)
			})
		},
	},
})

func (s *Subject) beDenied(ctx context.Context, host *Host, at harness.Endpoint) {
	w := host.Open(ctx, s, at)
	began := time.Now()
	s.Fault("the user may only connect")
	said := []error{w.Acquire(ctx, 2*TTL)}
	if said[0] == nil {
		check(errors.New("chaos: the user may lock"))
	}
	if errors.Is(said[0], context.DeadlineExceeded) {
		s.Show(oracle.Stall, "Lock waited for %v, to its end, for what the server had refused: %v", time.Since(began).Round(time.Millisecond), said[0])
	}
	secret := at.Password
	at.Password = "not-" + secret
	if err := steps(func() { host.Open(ctx, s, at) }); err != nil {
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

var redisClocks = table(Scenario{
	Family: "Redis clock", Locks: redisAll, Deadline: 20 * time.Second,
	Source: "Kleppmann 2016, How to do distributed locking",
	Tests:  []result.Guarantee{result.Fencing},
}, []Scenario{
	{Name: "redis-clock-forward", Takes: 4, Tries: 100, Prompt: 3 * TTL,
		Question: "Are there two holders after the server's clock was set forward?",
		Fault:    "the clock of the server is set forward by two leases while the lock is held; of three independent servers, one",
		Expect: []Expectation{
			{"redis-redlock", nil, "the clocks of two of the three servers are unchanged"},
			tokenOrder,
			published,
			{"redis-semaphore", []oracle.Anomaly{oracle.TwoHolders, oracle.Overtaken}, "both leases end early, and waiters ask for the permits in either order; tokens rise"},
			{redisFenced, []oracle.Anomaly{oracle.TwoHolders}, "the lease ends early, and its holder notices it at its next renewal; tokens rise"},
			{"rueidislock.*", []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.Stall, oracle.Stuck}, "a lease ends at a time of the client's clock, which is past on the server: every request is granted"},
			{redisPlain, []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite}, "the lease ends early, and there is no token"},
		},
		Try: onFleet(backend.RedisOptions{Clock: true}, func(ctx context.Context, i *incident) {
			i.setClock("forward", 2*TTL)
			i.outcome(ctx, i.began)
		}),
	},
	{Name: "redis-clock-back", Takes: 9, Tries: 60, Prompt: 2 * TTL,
		Question: "How long is a lock taken if its holder dies after the server's clock was set back?",
		Fault:    "the clock of the server is set back by three leases while the lock is held, and then the process of the holder is killed; of three independent servers, one",
		Expect: []Expectation{
			{"redis-redlock", nil, "the clocks of two of the three servers are unchanged"},
			{"redis-token|redis-redisson12", []oracle.Anomaly{oracle.Overtaken, oracle.Stall, oracle.Stuck}, "it has no lease, so nothing ends the hold of a dead holder"},
			published,
			{"redis-semaphore", []oracle.Anomaly{oracle.Stall, oracle.Overtaken}, "the lease ends that much later; both permits are free at once then, and waiters are notified in either order"},
			{redisOne, []oracle.Anomaly{oracle.Stall}, "the lease ends that much later"},
		},
		Try: onFleet(backend.RedisOptions{Clock: true}, func(ctx context.Context, i *incident) {
			i.setClock("back", -3*TTL)
			i.hosts[0].Kill()
			began := i.t.Now()
			i.t.Each(func(s *Subject) { s.late.serve(ctx, 6*TTL, began) })
		}),
	},
})

func (i *incident) setClock(way string, by time.Duration) {
	i.t.Defer(func() {
		if i.fleet[0].SetClock(0, 0) != nil {
			i.t.Stage.drop("redis 0")
		}
	})
	i.t.Fault("the clock of server 0 is set %s", way)
	check(i.fleet[0].SetClock(0, by))
}

package chaos

import (
	"context"
	"fmt"
	"syscall"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

var redisLosses = []*Scenario{
	loss("redis-server-killed", "Does a lock outlive the death of a Redis server?",
		"the server is killed (SIGKILL) for good while the lock is held; of three independent servers, one",
		func(server *backend.Server) { check(server.Kill(0)) },
		func(ctx context.Context, server *backend.Server) { check(server.Restart(ctx, 0)) }),
	loss("redis-server-hung", "Does a lock outlive a Redis server that hangs?",
		"the server is stopped (SIGSTOP) for good while the lock is held, so that connections to it stay open; of three independent servers, one",
		func(server *backend.Server) { check(server.Signal(0, syscall.SIGSTOP)) },
		func(_ context.Context, server *backend.Server) { check(server.Signal(0, syscall.SIGCONT)) }),
}

func loss(name, question, fault string, lose func(*backend.Server), mend func(context.Context, *backend.Server)) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault,
		Source: "Redis documentation, Distributed Locks with Redis, The Redlock Algorithm",
		Tests:  []harness.Guarantee{harness.Failover},
		Locks:  redisAll,
		Expect: []Expectation{
			{"redis-redlock", nil, "two of its three servers are a majority"},
			published,
			{redisOne, []harness.Harm{harness.Stall, harness.Stuck}, "there is no other server"},
		},
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    30,
		Try: func(ctx context.Context, t *Try) {
			f := t.fleet(ctx, backend.RedisOptions{})
			i := t.incident(ctx, f.at)
			began := t.Now()
			t.Fault("server 0 is lost")
			t.Defer(func() {
				ctx, cancel := context.WithTimeout(context.Background(), DefaultPrompt*10)
				defer cancel()
				if steps(func() { mend(ctx, f[0]) }) != nil {
					t.Stage.drop("redis 0")
				}
			})
			lose(f[0])
			i.outcome(ctx, began)
		},
	}
}

var redisHangs = []*Scenario{
	hang("redis-stopped-short", "Does a server that hangs for half a lease disturb its locks?",
		"the server is stopped (SIGSTOP) for up to half a lease while the lock is held, and continued",
		harness.Failover, func(_ context.Context, t *Try, f fleet) {
			stopFor(t, f, time.Duration(t.Rand.Int64N(int64(TTL/2))))
		}),
	hang("redis-stopped-long", "Are there two holders after a server that hung for longer than the lease?",
		"the server is stopped (SIGSTOP) for two and a half leases while the lock is held, and continued",
		harness.Failover, func(_ context.Context, t *Try, f fleet) { stopFor(t, f, TTL*5/2) }),
	hang("redis-client-pause", "Are there two holders after the server kept all clients waiting?",
		"CLIENT PAUSE ALL for one and a half leases while the lock is held",
		harness.Fencing, func(ctx context.Context, t *Try, f fleet) {
			check(t.Redis(f.first()).Do(ctx, "CLIENT", "PAUSE", (TTL * 3 / 2).Milliseconds(), "ALL").Err())
			t.Sleep(ctx, TTL*3/2)
		}),
	hang("redis-debug-sleep", "Are there two holders after a command that kept the server busy?",
		"DEBUG SLEEP for one and a half leases while the lock is held, as a slow script or KEYS does",
		harness.Fencing, func(ctx context.Context, t *Try, f fleet) {
			check(t.Redis(f.first()).Do(ctx, "DEBUG", "SLEEP", fmt.Sprint((TTL * 3 / 2).Seconds())).Err())
		}),
}

func stopFor(t *Try, f fleet, d time.Duration) {
	check(f[0].Signal(0, syscall.SIGSTOP))
	time.Sleep(d) // not interrupted: the next try needs the server
	check(f[0].Signal(0, syscall.SIGCONT))
}

func hang(name, question, fault string, tests harness.Guarantee, do func(context.Context, *Try, fleet)) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault + "; of three independent servers, one",
		Source: "Kleppmann 2016, How to do distributed locking",
		Tests:  []harness.Guarantee{tests},
		Locks:  redisAll,
		Expect: []Expectation{
			published, losesWakeUps,
			{"redis-(queue|rw|semaphore|multi|token)", []harness.Harm{harness.Overtaken}, "an answer that comes later than the lease is no grant: the waiter gives it back and asks again, behind others; and a client is in line only when the server reads that it asks"},
			{redisAll, nil, "the lease ends by the clock, and its holder counts it from before it asked"},
		},
		Deadline: 20 * time.Second,
		Prompt:   4 * TTL, // the server does not answer, and then a lease of an earlier request may have to expire
		Tries:    100,
		Try: func(ctx context.Context, t *Try) {
			f := t.fleet(ctx, backend.RedisOptions{Args: []string{"--enable-debug-command", "local"}})
			i := t.incident(ctx, f.at)
			t.Fault("server 0 does not answer")
			do(ctx, t, f)
			t.Over("server 0 answers")
			i.outcome(ctx, t.Now())
		},
	}
}

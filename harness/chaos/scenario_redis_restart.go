package chaos

import (
	"context"
	"fmt"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

var redisRestarts = []*Scenario{
	{
		Name:     "redis-restart-empty",
		Question: "Does a server that forgets its locks in a restart give them away twice?",
		Fault:    "the server, which keeps nothing on disk, is killed (SIGKILL) and started again at once while the lock is held; of three independent servers, one",
		Source:   "Redis documentation, Distributed Locks with Redis, Performance, crash recovery and fsync",
		Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
		Locks:    redisAll,
		Expect:   forgotten,
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    200, Short: 2,
		Try: restarts(backend.None),
	},
	restart(backend.EverySecond, "redis-restart-everysec", "Does an append-only file that is synced once a second keep locks through a restart?",
		"the server, which keeps an append-only file (appendfsync everysec), is killed (SIGKILL) and started again at once while the lock is held; what the kernel was given outlives it, so this is no power failure"),
	restart(backend.Always, "redis-restart-always", "Does an append-only file that is synced on every write keep locks through a restart?",
		"the server, which keeps an append-only file (appendfsync always), is killed (SIGKILL) and started again at once while the lock is held"),
	loading,
}

var loading = &Scenario{
	Name:     "redis-restart-loading",
	Question: "What becomes of locks while a restarted server loads its data?",
	Fault:    "the server, which keeps an append-only file, is killed while the lock is held and started again, and loads the file for longer than the lease (key-load-delay)",
	Source:   "Redis documentation, Redis persistence",
	Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
	Locks:    redisOne,
	Expect:   append(reconnecting(), Expectation{redisOne, nil, "the server refuses (LOADING), the holder is told when its lease is over, and so is the lease that is loaded"}),
	Deadline: 25 * time.Second,
	Prompt:   4 * TTL,
	Tries:    30,
	Try: func(ctx context.Context, t *Try) {
		const keys, delay = 6000, 250 * time.Microsecond // takes one and a half leases
		server := must(t.Own(ctx, func(ctx context.Context) (*backend.Server, error) {
			return backend.StartRedisOf(ctx, backend.RedisOptions{
				Persistence: backend.EverySecond,
				Args:        []string{"--key-load-delay", fmt.Sprint(delay.Microseconds())},
			})
		}))
		f := fleet{server}
		fill := t.Redis(f.first()).Pipeline()
		for k := range keys {
			fill.Set(ctx, fmt.Sprint("large:", k), k, 0)
		}
		must(fill.Exec(ctx))
		i := t.incident(ctx, f.at)
		i.restart(ctx, f)
	},
}

func restart(p backend.Persistence, name, question, fault string) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault,
		Source:   "Redis documentation, Redis persistence",
		Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
		Locks:    redisAll,
		Expect:   keeps("the server still has the lock and its waiters"),
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    100,
		Try:      restarts(p),
	}
}

func restarts(p backend.Persistence) func(ctx context.Context, t *Try) {
	return func(ctx context.Context, t *Try) {
		f := t.fleet(ctx, backend.RedisOptions{Persistence: p})
		i := t.incident(ctx, f.at)
		i.restart(ctx, f)
	}
}

func (i *incident) restart(ctx context.Context, f fleet) {
	began := i.t.Now()
	i.t.Fault("server 0 is killed")
	check(f[0].Kill(0))
	check(f[0].Restart(ctx, 0))
	i.t.Over("it serves again")
	i.outcome(ctx, began)
}

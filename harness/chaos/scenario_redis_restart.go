package chaos

import (
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/backend"
)

// redisRestarts are what a restart of a server does, by what it keeps on disk.
var redisRestarts = []*Scenario{
	{
		Name:     "redis-restart-empty",
		Question: "Does a server that forgets its locks in a restart give them away twice?",
		Fault:    "the server, which keeps nothing on disk, is killed (SIGKILL) and started again at once while the lock is held; of three independent servers, one",
		Source:   "Redis documentation, Distributed Locks with Redis, Performance, crash recovery and fsync",
		Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
		Locks:    redisLocks,
		Expect:   forgotten,
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    200,
		Try:      restarts(backend.None),
	},
	restart(backend.EverySecond, "redis-restart-everysec", "Does an append-only file that is synced once a second keep locks through a restart?",
		"the server, which keeps an append-only file (appendfsync everysec), is killed (SIGKILL) and started again at once while the lock is held; what the kernel was given outlives it, so this is no power failure"),
	restart(backend.Always, "redis-restart-always", "Does an append-only file that is synced on every write keep locks through a restart?",
		"the server, which keeps an append-only file (appendfsync always), is killed (SIGKILL) and started again at once while the lock is held"),
}

// restart is a scenario in which the server keeps its data.
func restart(p backend.Persistence, name, question, fault string) *Scenario {
	return &Scenario{
		Name: name, Question: question, Fault: fault,
		Source:   "Redis documentation, Redis persistence",
		Tests:    []harness.Guarantee{harness.Failover, harness.Fencing},
		Locks:    redisLocks,
		Expect:   keeps("the server still has the lock and its waiters"),
		Deadline: 20 * time.Second,
		Prompt:   2 * TTL,
		Tries:    100,
		Try:      restarts(p),
	}
}

// restarts kills the first server and starts it again.
func restarts(p backend.Persistence) func(ctx context.Context, t *Try) error {
	return func(ctx context.Context, t *Try) error {
		f, err := t.fleet(ctx, backend.RedisOptions{Persistence: p})
		if err != nil {
			return err
		}
		i, err := t.incident(ctx, f.at)
		if err != nil {
			return err
		}
		began := t.Now()
		t.Fault("server 0 is killed")
		if err := f[0].Kill(0); err != nil {
			return err
		}
		if err := f[0].Restart(ctx, 0); err != nil {
			return err
		}
		t.Over("it serves again")
		return i.outcome(ctx, began)
	}
}

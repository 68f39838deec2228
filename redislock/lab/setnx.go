package lab

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// setNX is the common first lock: SET with NX, PX and a nonce, and a script that compares and
// deletes, over a go-redis client with default options.
//
// # Known faults
//
// That client repeats a command up to three times if the connection breaks. If only the reply
// of SET NX was lost, the repetition meets the first one's key and reports that the lock is
// taken. No client has it, and no error was reported: it stays taken for its time to live. A
// repeatable request, as in redis-poll, takes the lock again for the same nonce.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a
// Single Instance". github.com/redis/go-redis/v9, Options.MaxRetries: 3 by default.
var setNX = &harness.Variant{
	Name:   "redis-setnx",
	Doc:    "SET NX PX and compare-and-delete by a client that repeats commands: a lost reply leaves an orphan",
	Paper:  "Redis documentation, Distributed Locks",
	Status: harness.Historical,
	Remote: plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
		m := newNonceLock(p, name, ttl)
		m.take = func(ctx context.Context, nonce string) (bool, error) {
			return p.rdb.SetNX(ctx, name, nonce, m.ttl).Result()
		}
		return shared(m)
	}, func(o *redis.Options) { o.MaxRetries = 0 }), // the default, which is 3
}

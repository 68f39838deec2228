package lab

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// careless is redis-poll with the naive release: check whether the key is still ours, and if
// so delete it. Between these two requests the lease may end and another client may take the
// lock, which DEL then deletes. From then on two clients believe that they hold it, and the
// next release may admit a third.
//
// The conformance suite cannot detect that: no lease ends there. TestCareless ends one between
// the two requests. One script that compares and deletes has no such gap.
//
// # References
//
// Redisson 1.2.0, org.redisson.RedissonLock, unlock: GET, a comparison in the client, and DEL.
// Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a
// Single Instance", on why the value must be compared.
var careless = &harness.Variant{
	Name:   "redis-unsafe",
	Doc:    "redis-poll released by GET and then DEL, which may delete the lock of the next holder",
	Paper:  "Redisson 1.2.0",
	Status: harness.Historical,
	Remote: plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
		return shared(newCareless(p, name, ttl))
	}),
}

var (
	carelessAcquire = newScript("careless_acquire")
	carelessRenew   = newScript("careless_renew")
)

func newCareless(p *process, name string, ttl time.Duration) *nonceLock {
	m := newNonceLock(p, name, ttl)
	m.take, m.renew = m.script(carelessAcquire), m.script(carelessRenew)
	// Between the two requests another client may get the lock.
	m.free = func(ctx context.Context, nonce string) (held bool, err error) {
		err = p.persist(ctx, func() error {
			value, err := p.rdb.Get(ctx, name).Result()
			if held = value == nonce; held {
				return p.rdb.Del(ctx, name).Err()
			}
			if errors.Is(err, redis.Nil) {
				return nil
			}
			return err
		})
		return held && err == nil, err
	}
	return m
}

package redislock

import (
	"context"
	"errors"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// careless is [poll] with the release that is written first: check whether the
// key is still ours, and if it is delete it. These are two requests, and
// between them the lease may end and another client take the lock, which the
// second then deletes: from there on two believe that they hold it, and the
// next release may let in a third.
//
// The conformance suite cannot see that, since no lease ends while it looks;
// TestServer of this package ends one between the two requests and shows it. One
// script that compares and deletes has no such gap.
//
// # References
//
// Redisson 1.2.0, org.redisson.RedissonLock, unlock: GET, a comparison in the
// client, and DEL.
// Redis documentation, "Distributed Locks with Redis", section "Correct
// Implementation with a Single Instance", on why the value must be compared.
var careless = &harness.Variant{
	Name:   "redis-unsafe",
	Doc:    "redis-poll released by GET and then DEL, which may delete the lock of the next holder",
	Paper:  "Redisson 1.2.0",
	Family: harness.Redis,
	Status: harness.Historical,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: remote(func(c *Client, name string, o Options) locker { return newCareless(c, name, o) }),
}

// newCareless returns the lock of [careless].
func newCareless(c *Client, name string, o Options) *PollMutex {
	m := c.PollMutex(name, PollOptions{Options: o})
	m.free = func(ctx context.Context, nonce string, _ releaser) (held bool, err error) {
		err = c.persist(ctx, func(bool) error {
			value, err := c.rdb.Get(ctx, name).Result()
			if held = value == nonce; !held {
				if errors.Is(err, redis.Nil) {
					return nil
				}
				return err
			}
			return c.rdb.Del(ctx, name).Err()
		})
		return held && err == nil, err
	}
	return m
}

package peers

import (
	"context"
	"errors"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
)

// bsm100ms is unmodified bsm/redislock: a script with SET, NX and PX, and one that deletes the
// key if it has the own value. It waits only with a RetryStrategy, in its README a pause of
// 100 ms. It takes two commands alone, and one for each attempt behind others.
//
// # Additions of the adapter
//
//   - A far deadline if the context has none: otherwise the library uses the key's time to
//     live as the deadline of the wait.
//   - A loss signal: Done closes when the time to live is over, counted from the last request.
//     The library has no such signal and does not renew the key. A holder does not notice an
//     earlier deletion.
//
// # Unchanged behaviour
//
// If the deadline of the context passes during a request, a key that was set stays for its
// time to live. An error of the server ends Lock.
//
// # References
//
// github.com/bsm/redislock v0.9.4, redislock.go.
var bsm100ms = newBSM("bsm-redislock-100ms",
	"bsm/redislock v0.9.4, asks again after 100 ms, as in its README",
	func() redislock.RetryStrategy { return redislock.LinearBackoff(100 * time.Millisecond) })

// bsm1ms uses the shortest pause of the library without a busy loop.
var bsm1ms = newBSM("bsm-redislock-1ms",
	"bsm/redislock v0.9.4, asks again after 1 ms",
	func() redislock.RetryStrategy { return redislock.LinearBackoff(time.Millisecond) })

// bsmExp starts with 4 ms, the library's default; it recommends at least 16.
var bsmExp = newBSM("bsm-redislock-exp",
	"bsm/redislock v0.9.4, asks again after 4, 8, 16, 32 and from then on 64 ms",
	func() redislock.RetryStrategy {
		return redislock.ExponentialBackoff(time.Millisecond, 64*time.Millisecond)
	})

// newBSM takes a function because a strategy counts the attempts of one wait.
func newBSM(name, doc string, retry func() redislock.RetryStrategy) *harness.Variant {
	return newRedisPeer(name, doc, "bsm/redislock v0.9.4, redislock.go", func(rdb redis.UniversalClient, ttl time.Duration) func(string) redisLock {
		return func(key string) redisLock {
			scripts := &datedScripter{Scripter: rdb}
			client := redislock.New(scripts)
			return func(ctx context.Context, try bool) (*adapt.Lease, error) {
				options := new(redislock.Options) // one attempt
				if !try {
					options.RetryStrategy = retry()
				}
				l, err := obtain(ctx, client, key, ttl, options)
				if err != nil {
					return nil, err
				}
				// 1 % for clock differences, as in redsync.
				free := func(ctx context.Context) (bool, error) {
					err := l.Release(ctx)
					if errors.Is(err, redislock.ErrLockNotHeld) {
						return false, nil
					}
					return err == nil, err
				}
				return adapt.NewLease(context.Background(), scripts.sent.Add(ttl-ttl/100), free), nil
			}
		}
	})
}

type datedScripter struct {
	redis.Scripter
	sent time.Time
}

func (d *datedScripter) EvalSha(ctx context.Context, sha string, keys []string, args ...any) *redis.Cmd {
	d.sent = time.Now()
	return d.Scripter.EvalSha(ctx, sha, keys, args...)
}

// farOff is a deadline that no wait reaches.
const farOff = 1000 * time.Hour

func obtain(ctx context.Context, client *redislock.Client, key string, ttl time.Duration, options *redislock.Options) (*redislock.Lock, error) {
	if _, ok := ctx.Deadline(); !ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, farOff)
		defer cancel()
	}
	l, err := client.Obtain(ctx, key, ttl, options)
	if errors.Is(err, redislock.ErrNotObtained) {
		err = errors.Join(harness.ErrNotAcquired, err)
	}
	return l, err
}

package lab

import (
	"time"

	"locklab/harness"
	"locklab/redislock"
)

const brooker = "Brooker 2015"

// polls returns a lock like redis-poll with other pauses between the attempts of a waiter, the
// only parameter of polling. A longer pause sends fewer requests, leaves the lock free for
// longer after each release, and favours new waiters over sleeping ones.
//
//   - redis-spin does not pause: the best of polling, for a request per round trip and waiter.
//   - redis-poll-1ms, -5ms, -20ms, -100ms pause for that time.
//   - redis-poll-jitter pauses from 0 to 40 ms, evenly spread. Its mean is 20 ms as in
//     redis-poll-20ms, so the two differ only by the spread, which separates waiters in step.
//   - redis-poll-exp doubles its bound from 1 to 128 ms, and waits for a random part of it
//     ("full jitter").
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Retry on Failure", which asks
// for a random delay. Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
// Redisson, org.redisson.RedissonSpinLock and LockOptions.ExponentialBackOff, for the bounds
// of 1 and 128 ms.
func polls(name, doc, paper string, pause func(n int) time.Duration) *harness.Variant {
	return &harness.Variant{
		Name:  name,
		Doc:   doc,
		Paper: paper,
		Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker {
			return c.PollMutex(name, redislock.PollOptions{Options: o, Pause: pause})
		}),
	}
}

func constant(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

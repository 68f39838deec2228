package lab

import (
	"math/rand/v2"
	"time"

	"locklab/harness"
	"locklab/redislock"
)

// The locks in this file are redis-poll with other pauses between the attempts of a
// waiter: what polling costs depends on nothing else. A longer pause sends fewer
// requests, leaves the lock free for longer after each release, and favours a
// waiter that has just come over one that sleeps.
//
//   - redis-spin does not pause: the floor of what polling can reach, at the
//     price of a request per round trip and waiter.
//   - redis-poll-1ms, -5ms, -20ms, -100ms pause for as long as their names say.
//   - redis-poll-jitter pauses from 0 to 40 ms, evenly spread. Its mean is that of
//     redis-poll-20ms, so that the two differ by what the spread does: waiters that
//     were in step get out of it.
//   - redis-poll-exp begins with a millisecond and doubles up to 128, and waits
//     for any part of that ("full jitter").
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Retry on Failure",
// which asks for a random delay.
// Brooker, "Exponential Backoff And Jitter", AWS Architecture Blog, 2015.
// Redisson, org.redisson.RedissonSpinLock and LockOptions.ExponentialBackOff, for
// the bounds of 1 and 128 ms.

var (
	pollSpin   = polls("redis-spin", "redis-poll whose waiters do not pause", constant(0))
	poll1ms    = polls("redis-poll-1ms", "redis-poll with pauses of 1 ms", constant(time.Millisecond))
	poll5ms    = polls("redis-poll-5ms", "redis-poll with pauses of 5 ms", constant(5*time.Millisecond))
	poll20ms   = polls("redis-poll-20ms", "redis-poll with pauses of 20 ms", constant(20*time.Millisecond))
	poll100ms  = polls("redis-poll-100ms", "redis-poll with pauses of 100 ms", constant(100*time.Millisecond))
	pollJitter = polls("redis-poll-jitter", "redis-poll with pauses from 0 to 40 ms, evenly spread", jitter(0, 40*time.Millisecond))
	pollExp    = polls("redis-poll-exp", "redis-poll with pauses that double from 1 to 128 ms, with full jitter", redislock.Backoff(time.Millisecond, 128*time.Millisecond))
)

// polls returns a variant of redis-poll.
func polls(name, doc string, pause func(n int) time.Duration) *harness.Variant {
	return &harness.Variant{
		Name:   name,
		Doc:    doc,
		Paper:  "Brooker 2015",
		Family: harness.Redis,
		Status: harness.Reference,
		Traits: harness.Traits{Needs: harness.KindRedis},
		Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker {
			return c.PollMutex(name, redislock.PollOptions{Options: o, Pause: pause})
		}),
	}
}

// constant returns pauses of d.
func constant(d time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return d }
}

// jitter returns pauses from least to most, evenly spread.
func jitter(least, most time.Duration) func(int) time.Duration {
	return func(int) time.Duration { return least + rand.N(most-least+1) }
}

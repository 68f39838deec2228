package lab

import (
	"math/rand/v2"
	"time"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/redislock"
)

// Suite lists the locks of package redislock and of this package.
var Suite = adapt.OnServers(harness.Redis, harness.KindRedis, []*harness.Variant{
	{
		Name:       "redis-queue",
		Doc:        "queue in the server, a release hands over to the first waiter's mailbox",
		Paper:      "locklab, docs/decisions/0008",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, Fenced: true},
		Remote:     remote((*redislock.Client).Mutex),
	},
	{
		Name:       "redis-reentrant",
		Doc:        "hash of owner and count, waiters listen to a channel; shares its locks with Redisson's getLock",
		Paper:      "Redisson 4.7.0, RedissonLock",
		Complexity: harness.Single,
		Traits:     harness.Traits{Reentrant: true},
		Remote:     remote((*redislock.Client).Reentrant),
	},
	redisson12,
	fairRedisson,
	rwRedisson,
	renewalsRedisson,
	polls("redis-poll", "key with a nonce and a time to live, waiters poll in no order", "Redis documentation, Distributed Locks", nil),
	polls("redis-poll-1ms", "redis-poll with pauses of 1 ms", brooker, constant(time.Millisecond)),
	polls("redis-poll-5ms", "redis-poll with pauses of 5 ms", brooker, constant(5*time.Millisecond)),
	polls("redis-poll-20ms", "redis-poll with pauses of 20 ms", brooker, constant(20*time.Millisecond)),
	polls("redis-poll-100ms", "redis-poll with pauses of 100 ms", brooker, constant(100*time.Millisecond)),
	polls("redis-poll-jitter", "redis-poll with pauses from 0 to 40 ms, evenly spread", brooker, func(int) time.Duration { return rand.N(40*time.Millisecond + 1) }),
	polls("redis-poll-exp", "redis-poll with pauses that double from 1 to 128 ms, with full jitter", brooker, redislock.Backoff(time.Millisecond, 128*time.Millisecond)),
	polls("redis-spin", "redis-poll whose waiters do not pause", brooker, constant(0)),
	{
		Name:   "redis-pubsub",
		Doc:    "key with a nonce and a time to live, a release wakes all waiters by PUBLISH",
		Paper:  "Redisson, RedissonLock",
		Remote: remote((*redislock.Client).PubSubMutex),
	},
	careless,
	setNX,
	waiting,
	{
		Name:       "redis-rw",
		Doc:        "one queue of readers and writers in the server, readers next to each other are admitted together",
		Paper:      "locklab, docs/decisions/0008",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, ReadWrite: true, Fenced: true},
		Remote:     remote((*redislock.Client).RWMutex),
	},
	{
		Name:       "redis-semaphore",
		Doc:        "redis-queue with two permits, each with a lease of its own",
		Paper:      "locklab, docs/decisions/0008",
		Complexity: harness.Queued,
		Traits:     harness.Traits{FIFO: true, Permits: semaphorePermits, Fenced: true},
		Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker {
			return c.Semaphore(name, semaphorePermits, o)
		}),
	},
	{
		Name:       "redis-multi",
		Doc:        "two queues like redis-queue, taken in the order of their names and released in reverse",
		Paper:      "Coffman, Elphick & Shoshani 1971",
		Complexity: harness.Composed,
		Traits:     harness.Traits{FIFO: true, Fenced: true},
		Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker {
			return c.Multi([]string{name + ":b", name + ":a"}, o)
		}),
	},
	{
		Name:   "redis-redlock",
		Doc:    "a key with a nonce on most of three independent servers, waiters poll in no order",
		Paper:  "Redis documentation, Redlock",
		Traits: harness.Traits{Servers: redlockServers},
		Remote: remoteOn(redlockServers, func(cs []*redislock.Client, name string, o redislock.Options) locker {
			return redislock.NewRedlock(cs, name, redislock.RedlockOptions{PollOptions: redislock.PollOptions{Options: o}})
		}),
	},
	{
		Name:       "redis-cohort",
		Doc:        "a queue in each process in front of redis-queue, up to 17 acquisitions in a row within a process",
		Paper:      "Dice, Marathe & Shavit 2012",
		Complexity: harness.Composed,
		Traits:     harness.Traits{Fenced: true},
		Remote: remote(func(c *redislock.Client, name string, o redislock.Options) locker {
			return c.Cohort(name, redislock.CohortOptions{Options: o})
		}),
	},
	token,
})

const semaphorePermits = 2

// redlockServers is the number of servers of a Redlock in the lab: the fewest that can lose one.
const redlockServers = 3

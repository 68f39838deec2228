package redislock

import (
	"context"
	"math/rand/v2"
	"time"

	"locklab/lock"
)

// A keyLock is one key with a time to live, with the owner's nonce. It records no waiters.
type keyLock struct {
	base

	// ask takes the lock. Its answer is 1, or n <= 0 if another holder's key expires in -n
	// milliseconds, 0 if unknown.
	ask   *script
	needs string // the needs of take

	give    *script                   // deletes the key if it has the nonce; its answer is then 1
	channel string                    // of the messages about releases; "" if the waiters poll
	pause   func(n int) time.Duration // before attempt n+1 of a waiter that polls
}

// A waitFunc waits before attempt n+1 of one Lock and returns the reason for that attempt.
// The lock is free in at most left (0: unknown; a Redlock has its attempt's duration). The error is the reason to give up: ctx or
// the client has ended, or waiting is pointless.
type waitFunc func(ctx context.Context, n int, left time.Duration) (lock.Wake, error)

var (
	pollAcquire = newScript("needs", "poll_acquire")
	pollRelease = newScript("poll_release")
	pollRenew   = newScript("poll_renew")
	pollNeeds   = needs(pollRelease, pollRenew)
)

func newKeyLock(c *Client, name string, o Options) *keyLock {
	return &keyLock{base: c.base(name, o), ask: pollAcquire, needs: pollNeeds, give: pollRelease}
}

// Lock waits for the lock until ctx ends.
//
// It takes one request for each attempt, and one more if the server does not have the script
// yet.
func (k *keyLock) Lock(ctx context.Context) (*Lease, error) { return k.lock(ctx, false, k) }

// TryLock takes the lock if it is free. Otherwise the error wraps ErrNotAcquired.
func (k *keyLock) TryLock(ctx context.Context) (*Lease, error) { return k.lock(ctx, true, k) }

func (k *keyLock) acquire(ctx context.Context, try bool) (*Lease, error) {
	nonce := k.c.identity()
	free := func(ctx context.Context) (bool, error) { return k.free(ctx, nonce) }
	a := attempts{base: &k.base, try: try, undo: func(ctx context.Context) (bool, error) { return k.insist(ctx, k.o.TTL, free) }}
	wait, end := k.strategy()
	l, err := a.run(ctx, func() (*Lease, time.Duration, error) { return k.attempt(ctx, nonce) }, wait)
	end(l != nil)
	return l, err
}

func (k *keyLock) strategy() (wait waitFunc, end func(served bool)) {
	if k.channel != "" {
		return k.c.messages(topic{k.name, k.channel}, true, k.o.TTL)
	}
	return func(ctx context.Context, n int, _ time.Duration) (lock.Wake, error) {
		return lock.WakeTime, k.c.rest(ctx, k.pause(n))
	}, func(bool) {}
}

// attempt sends one request. It returns a lease, or the rest of another's, 0 if unknown.
func (k *keyLock) attempt(ctx context.Context, nonce string) (l *Lease, left time.Duration, err error) {
	lease := k.o.TTL.Milliseconds()
	sent := k.c.clock.Now()
	n, err := k.c.take(ctx, k.call(k.ask, nonce, lease), k.needs).Int()
	if err != nil || n <= 0 {
		return nil, millis(int64(-n)), err
	}
	l = k.newLease(k.call(pollRenew, nonce, lease), func(ctx context.Context) (bool, error) { return k.free(ctx, nonce) })
	l.prompt = k.c.prompt
	l, err = l.granted(sent)
	return l, 0, err
}

func (k *keyLock) call(s *script, args ...any) call { return call{s, []string{k.name}, args} }

// free deletes the key if it has the nonce, and reports whether it had.
func (k *keyLock) free(ctx context.Context, nonce string) (held bool, err error) {
	err = k.c.persist(ctx, func(ctx context.Context, _ bool) error {
		n, err := k.call(k.give, nonce, k.channel).run(ctx, k.c.rdb).Int()
		held = err == nil && n == 1
		return err
	})
	return held, err
}

// A PollMutex is the lock of the Redis documentation for one server: SET with NX, PX and a
// random value, deleted by a script that compares the value. Waiters ask again after a random
// pause.
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live. If it has the own
//     nonce, a reply was lost; renew it.
//  2. Otherwise wait for half to one and a half poll intervals and go to 1.
//  3. Release: delete the key if it has the own nonce, by a script.
//
// An uncontended acquisition takes two requests. With contention the number of requests grows
// with the wait, and the order of service is random.
//
// # References
//
// Redis documentation, "Distributed Locks with Redis", section "Correct Implementation with a
// Single Instance". Redis documentation, SET, section "Patterns".

// PollOptions configures a PollMutex. The zero value is usable.
type PollOptions struct {
	Options

	// Pause returns the wait before attempt n+1 of one Lock, n from 1; see Backoff. nil is 5
	// to 15 ms, evenly spread: fifty waiters then ask 5000 times a second.
	Pause func(n int) time.Duration
}

// A PollMutex is a lock between all clients that use the same name on the same server, whose
// waiters poll. It can be locked again after any error. It is not reentrant, and has no
// fencing tokens: [Lease.Token] is 0. [Mutex] has them, is fairer, and faster with waiters.
type PollMutex struct{ *keyLock }

// PollMutex returns the mutex with that name, its key in the server, such as "locks:reindex".
func (c *Client) PollMutex(name string, o PollOptions) *PollMutex {
	m := &PollMutex{newKeyLock(c, name, o.Options)}
	if m.pause = o.Pause; m.pause == nil {
		m.pause = func(int) time.Duration { return leastPause + rand.N(mostPause-leastPause+1) }
	}
	return m
}

// The default pauses of a polling waiter.
const leastPause, mostPause = 5 * time.Millisecond, 15 * time.Millisecond

// Backoff returns pauses for PollOptions: the nth is evenly spread from 0 to first doubled n-1
// times, at most to most ("full jitter": Brooker, "Exponential Backoff And Jitter", AWS
// Architecture Blog, 2015). Many waiters then send few requests.
func Backoff(first, most time.Duration) func(n int) time.Duration {
	return func(n int) time.Duration {
		bound := most
		if doublings := max(n, 1) - 1; doublings < 62 && first <= most>>doublings {
			bound = first << doublings
		}
		return rand.N(max(bound, 0) + 1)
	}
}

// A PubSubMutex is a [PollMutex] whose waiters listen instead of polling. A release
// publishes on a channel; all waiters of all processes wake up at once and ask, all but one
// in vain (a thundering herd).
//
//  1. Acquire: if the key is absent, set it to a nonce with a time to live.
//  2. Otherwise listen to the channel of the lock, with one connection for all waiters of the
//     process. Ask again when the server has confirmed that: the lock may have been released in
//     between.
//  3. Wait for a message, a broken connection, or the end of the key's time, and go to 1.
//     Messages are hints, and a key that expires sends none.
//  4. Release: delete the key if it has the own nonce, and publish, in one script.
//
// An uncontended acquisition takes two requests. With N waiters each release costs N requests
// and N messages, which delay the holder's next request; the order of service is random.
//
// # References
//
// Redisson, org.redisson.RedissonLock: this protocol, plus a count of re-entries and a
// latch. Redis documentation, "Redis Pub/Sub", section "Delivery semantics": at most once.

// A PubSubMutex is a lock between all clients that use the same name on the same server, whose
// waiters all wake up when it is released. It can be locked again after any error. It is not
// reentrant, and has no fencing tokens. [Mutex] has them, is fairer, and cheaper with waiters.
type PubSubMutex struct{ *keyLock }

var (
	pubsubAcquire = newScript("needs", "pubsub_acquire")
	pubsubRelease = newScript("pubsub_release")
	pubsubNeeds   = needs(pubsubRelease, pollRenew)
)

// PubSubMutex returns the mutex with that name, its key in the server, such as "locks:reindex".
// Its channel is named as [Client.Mutex] describes, with ~released. It may be made for every
// call: all locks of a name share one connection, until five seconds after their last waiter.
func (c *Client) PubSubMutex(name string, o Options) *PubSubMutex {
	m := &PubSubMutex{newKeyLock(c, name, o)}
	m.ask, m.needs, m.give, m.channel = pubsubAcquire, pubsubNeeds, pubsubRelease, companion(name, "released")
	return m
}

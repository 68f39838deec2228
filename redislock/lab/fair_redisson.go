package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/redislock"
)

// fairRedisson is Redisson's current RFairLock, including the busy loop of its waiters.
//
//  1. Acquire: one script drops waiters from the head of the queue whose time is over by the
//     client's clock. If the lock is free and the waiter is at the head, or there are no
//     waiters, it takes the lock. Otherwise it joins the queue, with the previous waiter's
//     time plus five minutes.
//  2. A waiter subscribes to a private channel. It asks again when a message comes, and when
//     the reported lease of the holder is over.
//  3. Release: as redis-reentrant with Redisson's three requests, but the message goes only to
//     the head of the queue.
//
// # Known faults
//
// A free lock has no time left, so a waiter that is not at the head must ask again in 0 ms. If
// the head is dead, the others ask as fast as the server answers, until its time is over. By
// default that is five minutes and the lease, and five minutes more for each dead waiter
// before it. The script compares different machines' clocks, and moves the time of every
// waiter. Counting up twice after a lost reply holds the lock until the lease ends.
//
// # References
//
// Redisson 4.7.0, org.redisson.RedissonFairLock, RedissonLock and RedissonBaseLock: keys,
// channels and scripts.
var fairRedisson = &harness.Variant{
	Name:   "redis-fair-redisson",
	Doc:    "list of waiters and a sorted set of their times; behind a dead waiter the others spin",
	Paper:  "Redisson 4.7.0, RedissonFairLock",
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true, Reentrant: true},
	Remote: plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
		r := newRedisson(p, name, cmp.Or(ttl, redislock.DefaultTTL))
		return func() harness.Session { return newFairThread(r) }
	}),
}

const (
	// fairWait is how long others wait for a waiter at the head: threadWaitTime.
	fairWait = 5 * time.Minute

	// fairLatch is how long the server remembers a release: three tries of 3 s, 1.5 s apart.
	fairLatch = 13500 * time.Millisecond
)

var (
	fairAcquire = newScript("fair_prune", "fair_acquire")
	fairRelease = newScript("fair_prune", "fair_release")
	fairLeave   = newScript("fair_leave")
	fairRenew   = newScript("fair_renew")
)

func newFairThread(r *redisson) *fairThread {
	t := &fairThread{r: r, field: r.newOwner()}
	t.plainSession = plainSession{r.p, r.name, t.acquire}
	return t
}

type fairThread struct {
	plainSession
	r      *redisson
	field  string
	leases atomic.Int64
}

func (t *fairThread) acquire(ctx context.Context, try bool) (*adapt.Lease, error) {
	return t.r.hub.acquire(ctx, try, t.channels()+t.field,
		func() (*adapt.Lease, time.Duration, error) { return t.ask(ctx, !try) }, t.leave)
}

func (t *fairThread) ask(ctx context.Context, join bool) (*adapt.Lease, time.Duration, error) {
	sent := time.Now()
	l, left, err := t.r.answer(sent, t.run(ctx, fairAcquire, nil, join), t.field, fairRenew, t.release)
	if l != nil {
		t.leases.Add(1)
	}
	return l, left, err
}

func (t *fairThread) run(ctx context.Context, s *redis.Script, latch []string, args ...any) *redis.Cmd {
	r := t.r
	keys := append([]string{r.name, redissonName("redisson_lock_queue", r.name), redissonName("redisson_lock_timeout", r.name)}, latch...)
	return s.Run(ctx, r.p.rdb, keys, append([]any{t.field, r.ttl.Milliseconds(), time.Now().UnixMilli(), fairWait.Milliseconds()}, args...)...)
}

func (t *fairThread) channels() string { return redissonName("redisson_lock__channel", t.r.name) + ":" }

func (t *fairThread) release(ctx context.Context) (held bool, err error) {
	t.leases.Add(-1)
	return t.giveBack(ctx)
}

func (t *fairThread) giveBack(ctx context.Context) (held bool, err error) {
	latch := redissonName("redisson_unlock_latch", t.r.name) + ":" + rand.Text()
	err = t.r.p.persist(ctx, func() error {
		err := t.run(ctx, fairRelease, []string{latch}, fairLatch.Milliseconds(), t.channels(), unlockMessage).Err()
		if held = err == nil; err == redis.Nil {
			err = nil
		}
		return err
	})
	if held {
		// If this fails, it expires.
		_ = t.r.p.rdb.Del(ctx, latch).Err()
	}
	return held, err
}

// leave also gives back a lock that was granted unnoticed.
func (t *fairThread) leave(ctx context.Context) error {
	err := t.run(ctx, fairLeave, nil).Err()
	if t.leases.Load() == 0 {
		_, again := t.giveBack(ctx)
		err = errors.Join(err, again)
	}
	return err
}

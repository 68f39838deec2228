package lab

import (
	"cmp"
	"context"
	"time"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/redislock"
)

// rwRedisson is Redisson's RReadWriteLock up to 3.8.1 (September 2018), with the wake-ups
// of its readers.
//
//  1. Acquire: one script. If there is no hash, it sets the mode, read or write, and the owner;
//     a reader joins a hash whose mode is read. Otherwise it returns for how long the lock is
//     taken.
//  2. Otherwise join the client's subscription to the lock's channel, ask again, and wait for a
//     permit of the client's semaphore or the end of that time. Each message gives one permit.
//  3. Release: one script removes the owner. The last one deletes the hash and publishes.
//
// # Known faults
//
// A message gives one permit, however many wait. When the writer leaves, one reader of a
// client enters, and the next one when that reader has left. They take turns until their
// reported times are over. From 3.8.2 on, the release of a writer has a separate message
// that wakes all waiters. After a lost message only that time helps, which is the lease: 35
// s in a report on 3.16.3.
//
// Left out are re-entry and the key for each hold of a reader, which lets Redisson expire a
// dead reader: here it expires with the last holder that renews.
//
// # References
//
// Redisson, org.redisson.RedissonReadLock, RedissonWriteLock and pubsub.LockPubSub of
// 2018 and of 3.8.2; its release notes of 3.8.2; issues 1542, "Multiple ReadLocks are not
// sharing locks properly after WriteLock releases", and 3891.
var rwRedisson = &harness.Variant{
	Name:   "redis-rw-redisson",
	Doc:    "hash of mode and owners; a message wakes one waiter of a client: readers that waited take turns",
	Paper:  "Redisson 3.8.1, RReadWriteLock",
	Status: harness.Historical,
	Traits: harness.Traits{ReadWrite: true},
	Remote: plain(func(p *process, name string, ttl time.Duration) func() harness.Session {
		return shared(newRWRedisson(p, name, ttl))
	}),
}

var (
	rwAcquire = newScript("rw_redisson_acquire")
	rwRelease = newScript("rw_redisson_release")
	rwRenew   = newScript("rw_redisson_renew")
)

type rwRedissonLock struct {
	plainSession
	r       *redisson
	channel string
}

var _ harness.RWSession = (*rwRedissonLock)(nil)

func newRWRedisson(p *process, name string, ttl time.Duration) *rwRedissonLock {
	m := &rwRedissonLock{r: newRedisson(p, name, cmp.Or(ttl, redislock.DefaultTTL)), channel: redissonName("redisson_rwlock", name)}
	m.plainSession = plainSession{p, name, func(ctx context.Context, try bool) (*adapt.Lease, error) { return m.acquire(ctx, "write", try) }}
	return m
}

func (m *rwRedissonLock) RLock(ctx context.Context) (harness.Lease, error) {
	return m.p.await(ctx, m.name, func(ctx context.Context) (*adapt.Lease, error) { return m.acquire(ctx, "read", false) })
}

func (m *rwRedissonLock) acquire(ctx context.Context, mode string, try bool) (*adapt.Lease, error) {
	owner := m.r.newOwner()
	return m.r.hub.acquire(ctx, try, m.channel,
		func() (*adapt.Lease, time.Duration, error) { return m.ask(ctx, owner, mode) },
		func(ctx context.Context) error { _, err := m.free(ctx, owner); return err })
}

func (m *rwRedissonLock) ask(ctx context.Context, owner, mode string) (*adapt.Lease, time.Duration, error) {
	sent := time.Now()
	reply := rwAcquire.Run(ctx, m.p.rdb, []string{m.name}, owner, m.r.ttl.Milliseconds(), mode)
	return m.r.answer(sent, reply, owner, rwRenew, func(ctx context.Context) (bool, error) { return m.free(ctx, owner) })
}

func (m *rwRedissonLock) free(ctx context.Context, owner string) (held bool, err error) {
	err = m.p.persist(ctx, func() error {
		n, err := rwRelease.Run(ctx, m.p.rdb, []string{m.name}, owner, m.channel, unlockMessage).Int()
		held = n == 1
		return err
	})
	return held, err
}

package lab

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/redislock"
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
	Family: harness.Redis,
	Status: harness.Historical,
	Traits: harness.Traits{Needs: harness.KindRedis},
	Remote: plain(func(p *process, name string, ttl time.Duration) func() plainLocker {
		m := newCareless(p, name, ttl)
		return func() plainLocker { return m }
	}),
}

var (
	carelessAcquire = newScript("careless_acquire")
	carelessRenew   = newScript("careless_renew")
)

type carelessLock struct {
	p    *process
	name string
	ttl  time.Duration
}

const defaultTTL = redislock.DefaultTTL

func newCareless(p *process, name string, ttl time.Duration) *carelessLock {
	return &carelessLock{p, name, cmp.Or(ttl, defaultTTL)}
}

func (m *carelessLock) Lock(ctx context.Context) (harness.Lease, error)    { return m.lock(ctx, false) }
func (m *carelessLock) TryLock(ctx context.Context) (harness.Lease, error) { return m.lock(ctx, true) }

func (m *carelessLock) lock(ctx context.Context, try bool) (harness.Lease, error) {
	return m.p.await(ctx, m.name, func(ctx context.Context) (*plainLease, error) {
		nonce := newUUID()
		for {
			l, err := m.attempt(ctx, nonce)
			if err != nil { // the request may have taken the lock
				m.p.undo(ctx, func(ctx context.Context) error { _, err := m.free(ctx, nonce); return err })
			}
			if l != nil || err != nil {
				return l, err
			}
			if try {
				return nil, harness.ErrNotAcquired
			}
			if !m.p.pause(ctx, 5*time.Millisecond+rand.N(10*time.Millisecond)) {
				return nil, errors.Join(ctx.Err(), m.p.closed())
			}
		}
	})
}

func (m *carelessLock) attempt(ctx context.Context, nonce string) (*plainLease, error) {
	sent := time.Now()
	keys := []string{m.name}
	n, err := carelessAcquire.Run(ctx, m.p.rdb, keys, nonce, m.ttl.Milliseconds()).Int()
	if err != nil || n == 0 {
		return nil, err
	}
	l := &plainLease{p: m.p, name: m.name, span: m.ttl}
	l.free = func(ctx context.Context) (bool, error) { return m.free(ctx, nonce) }
	l.renew = func(ctx context.Context) (bool, error) {
		n, err := carelessRenew.Run(ctx, m.p.rdb, keys, nonce, m.ttl.Milliseconds()).Int()
		return n == 1, err
	}
	if !l.begin(sent) {
		return nil, errTooLate
	}
	return l, nil
}

// free sends two requests; between them another may get the lock.
func (m *carelessLock) free(ctx context.Context, nonce string) (held bool, err error) {
	err = m.p.persist(ctx, func() error {
		value, err := m.p.rdb.Get(ctx, m.name).Result()
		if held = value == nonce; !held {
			if errors.Is(err, redis.Nil) {
				return nil
			}
			return err
		}
		return m.p.rdb.Del(ctx, m.name).Err()
	})
	return held && err == nil, err
}

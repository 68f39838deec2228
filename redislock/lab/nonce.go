package lab

import (
	"cmp"
	"context"
	"crypto/rand"
	random "math/rand/v2"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/redislock"
)

// A nonceLock is a key with a nonce of its holder, and a time to live. Its waiters poll.
type nonceLock struct {
	plainSession
	ttl time.Duration

	take  func(ctx context.Context, nonce string) (taken bool, err error)
	renew func(ctx context.Context, nonce string) (held bool, err error) // nil without renewals
	free  func(ctx context.Context, nonce string) (held bool, err error)
	began func(nonce string, l *adapt.Lease) // nil, or called for each new lease
}

func newNonceLock(p *process, name string, ttl time.Duration) *nonceLock {
	m := &nonceLock{ttl: cmp.Or(ttl, redislock.DefaultTTL)}
	m.plainSession = plainSession{p, name, m.poll}
	m.free = m.script(compareAndDelete)
	return m
}

var compareAndDelete = newScript("setnx_release")

func (m *nonceLock) script(s *redis.Script) func(context.Context, string) (bool, error) {
	return func(ctx context.Context, nonce string) (bool, error) {
		n, err := s.Run(ctx, m.p.rdb, []string{m.name}, nonce, m.ttl.Milliseconds()).Int()
		return n == 1, err
	}
}

func (m *nonceLock) poll(ctx context.Context, try bool) (*adapt.Lease, error) {
	nonce := rand.Text()
	for {
		sent := time.Now()
		taken, err := m.take(ctx, nonce)
		switch {
		case err != nil: // the request may have taken the lock
			m.p.undo(ctx, func(ctx context.Context) error { _, err := m.free(ctx, nonce); return err })
			return nil, err
		case taken:
			return m.lease(nonce, sent)
		case try:
			return nil, harness.ErrNotAcquired
		}
		if err := wait(ctx, m.p, time.After(5*time.Millisecond+random.N(10*time.Millisecond))); err != nil {
			return nil, err
		}
	}
}

func (m *nonceLock) lease(nonce string, sent time.Time) (*adapt.Lease, error) {
	var renew func(ctx context.Context) (bool, error)
	if m.renew != nil {
		renew = func(ctx context.Context) (bool, error) { return m.renew(ctx, nonce) }
	}
	l, err := m.p.grant(sent, m.ttl, func(ctx context.Context) (bool, error) { return m.free(ctx, nonce) }, renew)
	if err == nil && m.began != nil {
		m.began(nonce, l)
	}
	return l, err
}

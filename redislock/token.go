package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
)

// token is a lock without a lease, a list with one element in it: a client that pops
// it has the lock, and one that pushes it gives it back. It shows the price of the
// other locks' safety: two requests an acquisition, however many wait, and nothing else.
//
//  1. Make the list, once: a script pushes the element if a mark is not there.
//  2. Acquire: BLPOP. The server serves those that block in order of arrival.
//  3. Release: RPUSH.
//
// # Trade-offs
//
// The lock is lost for good when its holder dies, or a reply to BLPOP: the
// server does not know which client has it. A reply to RPUSH that is lost, and the request repeated,
// gives it to two. There is no token for a resource to check, and each waiter
// occupies a connection. Not for use.
//
// # References
//
// Redis documentation, BLPOP. Edsger W. Dijkstra, "Cooperating Sequential
// Processes", 1965: a semaphore with one permit.
var token = &harness.Variant{
	Name:   "redis-token",
	Doc:    "a list with one element, popped to lock and pushed to unlock: no lease, lost with its holder",
	Paper:  "Redis documentation, BLPOP",
	Family: harness.Redis,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Needs: harness.KindRedis},
	Remote: func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		l, err := dialLab(ctx, at)
		if err != nil {
			return nil, err
		}
		return &tokenClient{l, newTokenLock(l.c, labPrefix+"{"+key+"}")}, nil
	},
}

var tokenMake = newScript("token_make")

// A tokenLock is the lock token as one client has it. Its mark is the number of the
// run's lock, so it stays until it is deleted, as the element does.
type tokenLock struct {
	c    *Client
	keys []string
	made atomic.Bool
}

func newTokenLock(c *Client, name string) *tokenLock {
	return &tokenLock{c: c, keys: []string{name, companion(name, "made")}}
}

// tokenClient adapts it to the laboratory.
type tokenClient struct {
	*labClient
	*tokenLock
}

func (r *tokenClient) Join(context.Context, int) (harness.Session, error) {
	return tokenSession{r.tokenLock}, nil
}

type tokenSession struct{ m *tokenLock }

var _ harness.TrySession = tokenSession{}

func (s tokenSession) Lock(ctx context.Context) (harness.Lease, error) {
	return endless(s.m.Lock(ctx))
}

func (s tokenSession) TryLock(ctx context.Context) (harness.Lease, error) {
	return endless(s.m.TryLock(ctx))
}

func (tokenSession) Close() error { return nil }

func endless(l *Lease, err error) (harness.Lease, error) {
	if err != nil {
		return nil, err
	}
	return tokenLease{l}, nil
}

func (m *tokenLock) Lock(ctx context.Context) (*Lease, error)    { return m.lock(ctx, false) }
func (m *tokenLock) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *tokenLock) lock(ctx context.Context, try bool) (*Lease, error) {
	return m.c.await(ctx, m.keys[0], 0, func(ctx context.Context) (*Lease, error) { return m.acquire(ctx, try) })
}

// acquire pops the element. The server is told to wait for a second at a time,
// so that a waiter that goes leaves no request blocked there.
func (m *tokenLock) acquire(ctx context.Context, try bool) (*Lease, error) {
	if !m.made.Load() {
		if err := tokenMake.Run(ctx, m.c.rdb, m.keys).Err(); err != nil {
			return nil, fmt.Errorf("redislock: lock %s: %w", m.keys[0], explain(err))
		}
		m.made.Store(true)
	}
	blocking, err := m.c.listener()
	if err != nil {
		return nil, err
	}
	for {
		if try {
			err = m.c.rdb.LPop(ctx, m.keys[0]).Err()
		} else {
			err = blocking.BLPop(context.WithoutCancel(ctx), time.Second, m.keys[0]).Err()
		}
		l := &Lease{c: m.c, name: m.keys[0], free: m.free}
		l.alive, l.end = context.WithCancelCause(context.Background())
		switch {
		case err == nil && ctx.Err() == nil && m.c.closedErr() == nil:
			return l, nil
		case err == nil:
			err = errors.Join(l.release(ctx), ctx.Err(), m.c.closedErr())
		case errors.Is(err, redis.Nil) && try:
			return nil, ErrNotAcquired
		case errors.Is(err, redis.Nil):
			err = errors.Join(ctx.Err(), m.c.closedErr())
		}
		if err != nil {
			return nil, fmt.Errorf("redislock: lock %s: %w", m.keys[0], explain(err))
		}
	}
}

func (m *tokenLock) free(ctx context.Context) (held bool, err error) {
	err = m.c.rdb.RPush(ctx, m.keys[0], "1").Err()
	return err == nil, err
}

// tokenLease is a Lease without an end.
type tokenLease struct{ *Lease }

func (tokenLease) Deadline() (time.Time, bool) { return time.Time{}, false }

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

// token is a lock without a lease, a list with one element in it: who pops that
// has the lock, and who pushes it gives it back. It shows the price of the
// other locks' safety: two requests a turn, however many wait, and nothing else.
//
//  1. Make the list, once: a script pushes the element if a mark is not there.
//  2. Acquire: BLPOP. The server serves those that block in order of arrival.
//  3. Release: RPUSH.
//
// # Trade-offs
//
// The lock is lost for good when its holder dies, or a reply to BLPOP: nobody
// knows who has it. A reply to RPUSH that is lost, and the request repeated,
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
		name := labPrefix + "{" + key + "}"
		return &tokenClient{labClient: l, keys: []string{name, companion(name, "made")}}, nil
	},
}

var tokenMake = newScript("token_make")

// tokenClient is the lock token. Its mark is the number of the run's lock, so it
// stays until somebody deletes it, as the element does.
type tokenClient struct {
	*labClient
	keys []string
	made atomic.Bool
}

func (r *tokenClient) Join(context.Context, int) (harness.Session, error) {
	return tokenSession{r}, nil
}

type tokenSession struct{ r *tokenClient }

var _ harness.TrySession = tokenSession{}

func (s tokenSession) Lock(ctx context.Context) (harness.Lease, error)    { return s.lock(ctx, false) }
func (s tokenSession) TryLock(ctx context.Context) (harness.Lease, error) { return s.lock(ctx, true) }
func (tokenSession) Close() error                                         { return nil }

func (s tokenSession) lock(ctx context.Context, try bool) (harness.Lease, error) {
	l, err := s.r.c.await(ctx, s.r.keys[0], 0, func(ctx context.Context) (*Lease, error) { return s.r.acquire(ctx, try) })
	if err != nil {
		return nil, err
	}
	return tokenLease{l}, nil
}

// acquire pops the element. The server is told to wait for a second at a time,
// so that a waiter that goes leaves nobody blocked there.
func (r *tokenClient) acquire(ctx context.Context, try bool) (*Lease, error) {
	if !r.made.Load() {
		if err := tokenMake.Run(ctx, r.rdb, r.keys).Err(); err != nil {
			return nil, fmt.Errorf("redislock: lock %s: %w", r.keys[0], err)
		}
		r.made.Store(true)
	}
	blocking, err := r.c.listener()
	if err != nil {
		return nil, err
	}
	for {
		if try {
			err = r.rdb.LPop(ctx, r.keys[0]).Err()
		} else {
			err = blocking.BLPop(context.WithoutCancel(ctx), time.Second, r.keys[0]).Err()
		}
		l := &Lease{c: r.c, name: r.keys[0], free: r.free}
		l.alive, l.end = context.WithCancelCause(context.Background())
		switch {
		case err == nil && ctx.Err() == nil && r.c.closedErr() == nil:
			return l, nil
		case err == nil:
			err = errors.Join(l.release(ctx), ctx.Err(), r.c.closedErr())
		case errors.Is(err, redis.Nil) && try:
			return nil, ErrNotAcquired
		case errors.Is(err, redis.Nil):
			err = errors.Join(ctx.Err(), r.c.closedErr())
		}
		if err != nil {
			return nil, fmt.Errorf("redislock: lock %s: %w", r.keys[0], err)
		}
	}
}

func (r *tokenClient) free(ctx context.Context) (held bool, err error) {
	err = r.rdb.RPush(ctx, r.keys[0], "1").Err()
	return err == nil, err
}

// tokenLease is a Lease without an end.
type tokenLease struct{ *Lease }

func (tokenLease) Deadline() (time.Time, bool) { return time.Time{}, false }

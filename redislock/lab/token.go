package lab

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
)

// token is a lock without a lease, a list with one element: a client that pops it has the
// lock, and pushing it gives the lock back. It shows the price of the other locks' safety:
// it takes two requests per acquisition, however many wait.
//
//  1. Make the list, once: a script pushes the element if a mark is absent.
//  2. Acquire: BLPOP. The server serves blocked clients in order of arrival. A waiter asks
//     again after five seconds, and is then the last.
//  3. Release: RPUSH.
//
// # Trade-offs
//
// The lock is lost permanently when its holder dies, or with a reply to BLPOP: the server
// does not record the owner. A lost reply to RPUSH and a repeated request give the lock to
// two. There is no token for a resource to check, and each waiter occupies a connection.
// Not for production use.
//
// # References
//
// Redis documentation, BLPOP. Edsger W. Dijkstra, "Cooperating Sequential
// Processes", 1965: a semaphore with one permit.
var token = &harness.Variant{
	Name:   "redis-token",
	Doc:    "a list with one element, popped to lock and pushed to unlock: no lease, lost with its holder",
	Paper:  "Redis documentation, BLPOP",
	Traits: harness.Traits{FIFO: true},
	Remote: plain(func(p *process, name string, _ time.Duration) func() harness.Session {
		m := new(tokenLock)
		m.plainSession = plainSession{p, name, m.acquire}
		return shared(m)
	}),
}

var tokenMake = newScript("token_make")

// A tokenLock is one client's view of the lock, whose mark stays until it is deleted.
type tokenLock struct {
	plainSession
	made atomic.Bool
}

// tokenWait is how long a waiter keeps its place, and a waiter that leaves its request.
const tokenWait = 5 * time.Second

// acquire pops the element. It takes a new place after tokenWait.
func (m *tokenLock) acquire(ctx context.Context, try bool) (*adapt.Lease, error) {
	if !m.made.Load() {
		if err := tokenMake.Run(ctx, m.p.rdb, []string{m.name, m.name + ":~made"}).Err(); err != nil {
			return nil, err
		}
		m.made.Store(true)
	}
	for {
		var err error
		if try {
			err = m.p.rdb.LPop(ctx, m.name).Err()
		} else {
			err = m.p.blocking.BLPop(context.WithoutCancel(ctx), tokenWait, m.name).Err()
		}
		ended := errors.Join(ctx.Err(), context.Cause(m.p.open))
		switch {
		case err == nil && ended == nil:
			return m.p.grant(time.Now(), 0, m.free, nil)
		case err == nil:
			_, err = m.free(context.WithoutCancel(ctx))
			return nil, errors.Join(err, ended)
		case errors.Is(err, redis.Nil) && try:
			return nil, harness.ErrNotAcquired
		case !errors.Is(err, redis.Nil):
			return nil, err
		case ended != nil:
			return nil, ended
		}
	}
}

func (m *tokenLock) free(ctx context.Context) (held bool, err error) {
	err = m.p.rdb.RPush(ctx, m.name, "1").Err()
	return err == nil, err
}

package peers

import (
	"context"
	"errors"
	"math"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
)

// redsyncDefault is unmodified redsync over one server: SET with NX, PX and a random value, and
// a script that deletes the key if it has that value. Waiters ask again after 50 to 250 ms, its
// default, or after 1 ms. It takes two commands alone. Behind others each attempt costs two:
// redsync sends the release after every failure, too.
//
// # Additions of the adapter
//
//   - Patience: redsync gives up after 32 attempts. Here it continues until the context ends,
//     and returns the context's error instead of ErrFailed.
//   - A redsync.Mutex for each acquisition: it keeps only the last value, so a late Unlock would
//     release a later acquisition.
//   - A loss signal: Done closes at Mutex.Until. Nothing renews the key, and an earlier deletion
//     is not noticed.
//
// # Unchanged behaviour
//
// If the context ends during a command, redsync sends the release with the same context, so it
// is not sent: a key that was set stays for its time to live. While a server does not answer,
// Lock continues to ask.
//
// # References
//
// github.com/go-redsync/redsync v4.15.0, mutex.go and redsync.go.
var redsyncDefault = newRedsync("redsync",
	"redsync v4.15.0 over one server, asks again after 50 to 250 ms, its default")

// redsync1ms uses the shortest pause of the library without a busy loop.
var redsync1ms = newRedsync("redsync-1ms",
	"redsync v4.15.0 over one server, asks again after 1 ms",
	redsync.WithRetryDelay(time.Millisecond))

func newRedsync(name, doc string, settings ...redsync.Option) *harness.Variant {
	return newRedisPeer(name, doc, "go-redsync/redsync v4.15.0, mutex.go", func(rdb redis.UniversalClient, ttl time.Duration) func(string) redisLock {
		rs := redsync.New(goredis.NewPool(rdb))
		options := append([]redsync.Option{redsync.WithTries(math.MaxInt), redsync.WithExpiry(ttl)}, settings...)
		return func(key string) redisLock {
			return func(ctx context.Context, try bool) (*adapt.Lease, error) {
				return redsyncLock(ctx, rs.NewMutex(key, options...), try)
			}
		}
	})
}

func redsyncLock(ctx context.Context, m *redsync.Mutex, try bool) (*adapt.Lease, error) {
	lock := m.LockContext
	if try {
		lock = m.TryLockContext
	}
	if err := lock(ctx); errors.As(err, new(*redsync.ErrTaken)) {
		return nil, errors.Join(harness.ErrNotAcquired, err)
	} else if err != nil {
		return nil, err
	}
	free := func(ctx context.Context) (bool, error) {
		ok, err := m.UnlockContext(ctx)
		if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, new(*redsync.ErrTaken)) {
			return false, nil
		}
		return ok, err
	}
	return adapt.NewLease(context.Background(), m.Until(), free), nil
}

package peers

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
	wireredis "locklab/internal/wire/redis"
	"locklab/lock"
)

const (
	redisPrefix = "locklab:"

	// redisTTL is the default time to live of keys: redsync's.
	redisTTL = 8 * time.Second
)

// A redisLock takes a lock with a library on top of go-redis, in one attempt, or until ctx
// ends. An error wraps harness.ErrNotAcquired if another has the lock.
type redisLock func(ctx context.Context, try bool) (*adapt.Lease, error)

type redisClient struct {
	*wireredis.Counter
	rdb redis.UniversalClient
	key string
	// join returns a redisLock for one worker.
	join func(key string) redisLock
}

func dialRedis(ctx context.Context, at harness.Endpoint, key string) (*redisClient, error) {
	rdb, counter, err := wireredis.ConnectAny(at)
	if err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	if err := rdb.Ping(ctx).Err(); err != nil {
		rdb.Close()
		return nil, fmt.Errorf("peers: %w: %s: %w", harness.ErrUnavailable, at.Addrs[0][0], err)
	}
	return &redisClient{Counter: counter, rdb: rdb, key: redisPrefix + key}, nil
}

func (r *redisClient) Join(context.Context, int) (harness.Session, error) {
	return &redisSession{r.key, r.join(r.key)}, nil
}

// Named returns another lock of the same client.
func (r *redisClient) Named(key string) harness.Remote {
	return redisNamed{&redisClient{r.Counter, r.rdb, redisPrefix + key, r.join}}
}

type redisNamed struct{ *redisClient }

func (redisNamed) Close() error { return nil }

func (r *redisClient) Close() error { return r.rdb.Close() }

type redisSession struct {
	key  string
	lock redisLock
}

var _ harness.TrySession = (*redisSession)(nil)

func (s *redisSession) Lock(ctx context.Context) (harness.Lease, error) { return s.take(ctx, false) }

func (s *redisSession) TryLock(ctx context.Context) (harness.Lease, error) { return s.take(ctx, true) }

func (s *redisSession) Close() error { return nil }

func (s *redisSession) take(ctx context.Context, try bool) (harness.Lease, error) {
	l, err := s.lock(ctx, try)
	if err != nil {
		return nil, fmt.Errorf("peers: lock %s: %w", s.key, cause(ctx, err))
	}
	return l, nil
}

// cause returns the error of ctx once it has ended, else err: the errors of libraries vary.
func cause(ctx context.Context, err error) error {
	if deadline, ok := ctx.Deadline(); ok && !time.Now().Before(deadline) {
		<-ctx.Done()
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func newPeer(name, doc, paper, kind string, traits harness.Traits, remote func(context.Context, harness.Endpoint, string) (harness.Remote, error)) *harness.Variant {
	traits.Needs = kind
	return &harness.Variant{Name: name, Doc: doc, Paper: paper, Family: harness.Peer, Traits: traits, Remote: remote}
}

// newRedisPeer returns a lock of a library on top of go-redis. setUp returns the function join of a
// client.
func newRedisPeer(name, doc, paper string, setUp func(rdb redis.UniversalClient, ttl time.Duration) func(key string) redisLock) *harness.Variant {
	return newPeer(name, doc, paper, harness.KindRedis, harness.Traits{}, func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		r, err := dialRedis(ctx, at, key)
		if err != nil {
			return nil, err
		}
		r.join = setUp(r.rdb, cmp.Or(at.Lease, redisTTL))
		return r, nil
	})
}

func await[T any](ctx context.Context, f func() (T, error), drop func(T)) (T, error) {
	start := func(f func()) bool { go f(); return true }
	return lock.Await(ctx, start, nil, f, drop)
}

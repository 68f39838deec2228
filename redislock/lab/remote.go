package lab

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/harness"
	"locklab/internal/adapt"
	wireredis "locklab/internal/wire/redis"
	"locklab/redislock"
)

type locker interface {
	Lock(ctx context.Context) (*redislock.Lease, error)
	TryLock(ctx context.Context) (*redislock.Lease, error)
}

// library maps the errors of the library.
var library = adapt.Errors{
	NotHeld:     redislock.ErrNotHeld,
	NotAcquired: redislock.ErrNotAcquired,
	Lost:        redislock.ErrLost,
	Released:    redislock.ErrReleased,
	Usage:       redislock.ErrUsage,
}

func nameOf(key string) string { return "locklab:{" + key + "}" }

// remote returns the constructor of a Variant whose lock is made by lock.
func remote[L locker](lock func(c *redislock.Client, name string, o redislock.Options) L) func(context.Context, harness.Endpoint, string) (harness.Remote, error) {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		c, err := dial(ctx, at)
		if err != nil {
			return nil, err
		}
		c.make = func(name string) locker { return lock(c.locks, name, redislock.Options{TTL: at.Lease}) }
		c.name = nameOf(key)
		c.lock = c.make(c.name)
		return c, nil
	}
}

type client struct {
	*wireredis.Counter
	rdb   redis.UniversalClient
	locks *redislock.Client
	make  func(name string) locker
	name  string
	lock  locker
}

var (
	_ harness.Namer   = (*client)(nil)
	_ harness.Counter = (*client)(nil)
)

func dial(ctx context.Context, at harness.Endpoint) (*client, error) {
	rdb, counter, err := wireredis.ConnectAny(at)
	if err != nil {
		return nil, fmt.Errorf("redislock: %w", err)
	}
	if err := answers(ctx, rdb, at); err != nil {
		return nil, err
	}
	// The client copies rdb's options, so the counter sees its blocking connections.
	return &client{Counter: counter, rdb: rdb, locks: redislock.NewClient(rdb, redislock.ClientOptions{})}, nil
}

func connect(ctx context.Context, at harness.Endpoint, tweak ...func(*redis.Options)) (*redis.Client, *wireredis.Counter, error) {
	rdb, counter, err := wireredis.Connect(at, tweak...)
	if err != nil {
		return nil, nil, fmt.Errorf("redislock: %w", err)
	}
	if err := answers(ctx, rdb, at); err != nil {
		return nil, nil, err
	}
	return rdb, counter, nil
}

func answers(ctx context.Context, rdb redis.UniversalClient, at harness.Endpoint) error {
	err := rdb.Ping(ctx).Err()
	if err == nil {
		return nil
	}
	rdb.Close()
	return fmt.Errorf("redislock: %w: %s: %w", harness.ErrUnavailable, at.Addrs[0][0], err)
}

// Named returns another lock of the same redislock.Client.
func (r *client) Named(key string) harness.Remote {
	return named{&client{Counter: r.Counter, rdb: r.rdb, locks: r.locks, make: r.make, name: nameOf(key), lock: r.make(nameOf(key))}}
}

type named struct{ *client }

func (named) Close() error { return nil }

func (r *client) Join(context.Context, int) (harness.Session, error) {
	switch m := r.lock.(type) {
	case *redislock.RWMutex:
		return reader{session{m}, m}, nil
	case *redislock.Reentrant:
		return session{m.Owner()}, nil
	}
	return session{r.lock}, nil
}

const (
	// tokenExpiry is how long a counter of tokens stays after a lab client has left.
	tokenExpiry = time.Hour

	// closeWait bounds the cleanup of Lock and Unlock.
	closeWait = 2 * time.Second
)

// Close waits for the cleanup of Lock and Unlock, and disconnects.
func (r *client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeWait)
	defer cancel()
	if r.name != "" {
		_ = r.rdb.PExpire(ctx, r.name+":~token", tokenExpiry).Err() // if there is one
	}
	done := make(chan error, 1)
	go func() { done <- r.locks.Close() }()
	select {
	case err := <-done:
		return errors.Join(err, r.rdb.Close())
	case <-time.After(closeWait):
		err := r.rdb.Close()
		return errors.Join(<-done, err)
	}
}

type session struct{ lock locker }

var _ harness.TrySession = session{}

func (s session) Lock(ctx context.Context) (harness.Lease, error) {
	return adapt.Lock(library, s.lock.Lock)(ctx)
}

func (s session) TryLock(ctx context.Context) (harness.Lease, error) {
	return adapt.Lock(library, s.lock.TryLock)(ctx)
}

func (session) Close() error { return nil }

type reader struct {
	session
	rw *redislock.RWMutex
}

var _ harness.RWSession = reader{}

func (s reader) RLock(ctx context.Context) (harness.Lease, error) {
	return adapt.Lock(library, s.rw.RLock)(ctx)
}

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

type locker = adapt.Locker[*redislock.Lease]

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
	if err := answers(ctx, rdb, at, err); err != nil {
		return nil, err
	}
	// The client copies rdb's options, so the counter sees its blocking connections.
	return &client{Counter: counter, rdb: rdb, locks: redislock.NewClient(rdb, redislock.ClientOptions{})}, nil
}

// answers returns err, or an error if the server of rdb does not answer.
func answers(ctx context.Context, rdb redis.UniversalClient, at harness.Endpoint, err error) error {
	if err != nil {
		return fmt.Errorf("redislock: %w", err)
	}
	if err = rdb.Ping(ctx).Err(); err == nil {
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
	if m, ok := r.lock.(*redislock.Reentrant); ok {
		return adapt.NewSession(library, locker(m.Owner())), nil
	}
	return adapt.NewSession(library, r.lock), nil
}

const (
	// tokenExpiry is how long a counter of tokens stays after a lab client has left.
	tokenExpiry = time.Hour

	// expireWait bounds the request that sets it.
	expireWait = 2 * time.Second
)

// Close waits for the cleanup of Lock and Unlock, and disconnects.
func (r *client) Close() error {
	ctx, cancel := context.WithTimeout(context.Background(), expireWait)
	defer cancel()
	if r.name != "" {
		_ = r.rdb.PExpire(ctx, r.name+":~token", tokenExpiry).Err() // if there is one
	}
	var err error
	closed := adapt.CloseAfter(func() { err = r.locks.Close() }, r.rdb.Close)
	return errors.Join(err, closed)
}

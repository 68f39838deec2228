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

func nameOf(key string) string { return "locklab:{" + key + "}" }

type constructor = func(context.Context, harness.Endpoint, string) (harness.Remote, error)

func remote[L locker](lock func(c *redislock.Client, name string, o redislock.Options) L) constructor {
	return remoteOn(1, func(cs []*redislock.Client, name string, o redislock.Options) locker { return lock(cs[0], name, o) })
}

// remoteOn returns the constructor of a Variant on that many independent servers.
func remoteOn(servers int, lock func(cs []*redislock.Client, name string, o redislock.Options) locker) constructor {
	return func(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
		if len(at.Addrs) < servers {
			return nil, fmt.Errorf("redislock: %w: the lock needs %d independent servers, and there are %d: name them in LOCKLAB_REDIS, with commas between", harness.ErrUnavailable, servers, len(at.Addrs))
		}
		r := &client{name: nameOf(key)}
		for i := range servers {
			one := at
			one.Addrs = at.Addrs[i : i+1]
			rdb, counter, err := wireredis.ConnectAny(one)
			if err := answers(ctx, rdb, one, err); err != nil {
				return nil, errors.Join(err, r.Close())
			}
			// The client copies rdb's options, so the counter sees its blocking connections.
			r.counters, r.servers, r.locks = append(r.counters, counter), append(r.servers, rdb), append(r.locks, redislock.NewClient(rdb, redislock.ClientOptions{}))
		}
		r.make = func(name string) locker { return lock(r.locks, name, redislock.Options{TTL: at.Lease}) }
		r.lock = r.make(r.name)
		return r, nil
	}
}

// A client is a lock with its connections to one server, or to each of several.
type client struct {
	counters []*wireredis.Counter
	servers  []redis.UniversalClient
	locks    []*redislock.Client
	make     func(name string) locker
	name     string
	lock     locker
}

func (r *client) Counts() (total harness.Counts) {
	for _, c := range r.counters {
		total = total.Add(c.Counts())
	}
	return total
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
	other := *r
	other.name = nameOf(key)
	other.lock = r.make(other.name)
	return named{&other}
}

type named struct{ *client }

func (named) Close() error { return nil }

func (r *client) Join(context.Context, int) (harness.Session, error) {
	if m, ok := r.lock.(*redislock.Reentrant); ok {
		return adapt.NewSession(locker(m.Owner())), nil
	}
	return adapt.NewSession(r.lock), nil
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
	var errs []error
	for i, rdb := range r.servers {
		_ = rdb.PExpire(ctx, r.name+":~token", tokenExpiry).Err() // if there is one
		var err error
		closed := adapt.CloseAfter(func() { err = r.locks[i].Close() }, rdb.Close)
		errs = append(errs, err, closed)
	}
	return errors.Join(errs...)
}

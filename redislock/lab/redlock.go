package lab

import (
	"context"
	"errors"
	"fmt"

	"locklab/harness"
	"locklab/internal/adapt"
	"locklab/redislock"
)

// redlockServers is the number of servers of a Redlock in the lab: the fewest that can lose one.
const redlockServers = 3

func remoteRedlock(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
	if len(at.Addrs) < redlockServers {
		return nil, fmt.Errorf("redislock: %w: a Redlock needs %d independent servers, and there are %d: name them in LOCKLAB_REDIS, with commas between", harness.ErrUnavailable, redlockServers, len(at.Addrs))
	}
	r := new(redlock)
	var clients []*redislock.Client
	for i := range redlockServers {
		one := at
		one.Addrs = at.Addrs[i : i+1]
		c, err := dial(ctx, one)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.parts = append(r.parts, c)
		clients = append(clients, c.locks)
	}
	o := redislock.PollOptions{Options: redislock.Options{TTL: at.Lease}}
	r.lock = redislock.NewRedlock(clients, nameOf(key), redislock.RedlockOptions{PollOptions: o})
	return r, nil
}

type redlock struct {
	parts []*client
	lock  *redislock.Redlock
}

var (
	_ harness.Remote  = (*redlock)(nil)
	_ harness.Counter = (*redlock)(nil)
)

func (r *redlock) Counts() (total harness.Counts) {
	for _, c := range r.parts {
		total = total.Add(c.Counts())
	}
	return total
}

func (r *redlock) Join(context.Context, int) (harness.Session, error) {
	return adapt.NewSession(library, locker(r.lock)), nil
}

func (r *redlock) Close() error {
	var errs []error
	for _, c := range r.parts {
		errs = append(errs, c.Close())
	}
	return errors.Join(errs...)
}

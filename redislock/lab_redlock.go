package redislock

import (
	"context"
	"errors"
	"fmt"

	"locklab/harness"
)

// labServers is on how many servers the laboratory runs a Redlock: the least that
// can lose one.
const labServers = 3

// remoteRedlock connects to the first servers of at.
func remoteRedlock(ctx context.Context, at harness.Endpoint, key string) (harness.Remote, error) {
	if len(at.Addrs) < labServers {
		return nil, fmt.Errorf("redislock: %w: a Redlock needs %d independent servers, and there are %d: name them in LOCKLAB_REDIS, with commas between", harness.ErrUnavailable, labServers, len(at.Addrs))
	}
	r := new(labRedlock)
	var clients []*Client
	for i := range labServers {
		one := at
		one.Addrs = at.Addrs[i : i+1]
		l, err := dialLab(ctx, one)
		if err != nil {
			return nil, errors.Join(err, r.Close())
		}
		r.parts = append(r.parts, l)
		clients = append(clients, l.c)
	}
	r.lock = NewRedlock(clients, labPrefix+"{"+key+"}", RedlockOptions{PollOptions: PollOptions{Options: Options{TTL: at.Lease}}})
	return r, nil
}

// labRedlock adapts the clients of several servers and one lock to the laboratory.
type labRedlock struct {
	parts []*labClient
	lock  *Redlock
}

var (
	_ harness.Remote  = (*labRedlock)(nil)
	_ harness.Counter = (*labRedlock)(nil)
)

func (r *labRedlock) Counts() (total harness.Counts) {
	for _, l := range r.parts {
		total = total.Add(l.Counts())
	}
	return total
}

func (r *labRedlock) Join(context.Context, int) (harness.Session, error) {
	return labSession{r.lock}, nil
}

func (r *labRedlock) Close() error {
	var errs []error
	for _, l := range r.parts {
		errs = append(errs, l.Close())
	}
	return errors.Join(errs...)
}

package locktest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"locklab/harness"
)

// soon is how long a check waits to see that something does not happen.
const soon = 300 * time.Millisecond

// A fixture is the clients and sessions that contend for one lock, of a unique key.
type fixture struct {
	ctx      context.Context
	s        Subject
	key      string
	clients  []harness.Remote
	sessions []harness.Session
	joined   int // number of joined workers

	// The holders of the permits that are withheld from the check.
	away   []harness.Session
	leases []harness.Lease
}

// inFixture runs check in a new fixture and then closes it, sessions first. All permits but
// one are taken before, so that the lock behaves like others.
func inFixture(ctx context.Context, s Subject, check func(r *fixture) error) error {
	return inFixtureWithout(ctx, s, spare(s.Variant), check)
}

func inFixtureWithout(ctx context.Context, s Subject, permits int, check func(r *fixture) error) error {
	r := &fixture{ctx: ctx, s: s, key: "locktest-" + rand.Text()}
	err := r.take(permits)
	if err == nil {
		err = check(r)
	}
	return errors.Join(err, r.close())
}

func (r *fixture) take(permits int) error {
	if permits == 0 {
		return nil
	}
	c, err := r.client()
	if err != nil {
		return err
	}
	for range permits {
		if _, err := r.join(c); err != nil {
			return err
		}
		lease, err := r.lock(len(r.sessions) - 1)
		if err != nil {
			return err
		}
		r.leases = append(r.leases, lease)
	}
	r.away, r.sessions = r.sessions, nil
	return nil
}

func (r *fixture) close() error {
	var errs []error
	for _, l := range r.leases {
		errs = append(errs, r.unlock(l))
	}
	for _, s := range slices.Concat(r.sessions, r.away) {
		errs = append(errs, s.Close())
	}
	for _, c := range r.clients {
		errs = append(errs, c.Close())
	}
	r.sessions, r.away, r.leases, r.clients = nil, nil, nil, nil
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("close: %w", err)
	}
	return nil
}

func (r *fixture) patient() (context.Context, context.CancelFunc) {
	return context.WithTimeout(r.ctx, r.s.patience())
}

func (r *fixture) client() (harness.Remote, error) {
	ctx, cancel := r.patient()
	defer cancel()
	c, err := r.s.Variant.Remote(ctx, r.s.At, r.key)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	r.clients = append(r.clients, c)
	return c, nil
}

func (r *fixture) join(c harness.Remote) (harness.Session, error) {
	ctx, cancel := r.patient()
	defer cancel()
	s, err := c.Join(ctx, r.joined)
	if err != nil {
		return nil, fmt.Errorf("join: %w", err)
	}
	r.joined++
	r.sessions = append(r.sessions, s)
	return s, nil
}

func (r *fixture) fill(n, per int) error {
	for len(r.sessions) < n {
		if len(r.sessions)%per == 0 {
			if _, err := r.client(); err != nil {
				return err
			}
		}
		if _, err := r.join(r.clients[len(r.clients)-1]); err != nil {
			return err
		}
	}
	return nil
}

func (r *fixture) atMost(n int) int { return atMost(r.s.Variant, n) }

var errNoGrant = errors.New("does not get the lock")

func (r *fixture) lock(i int) (harness.Lease, error) {
	ctx, cancel := r.patient()
	defer cancel()
	lease, err := r.sessions[i].Lock(ctx)
	switch {
	case err == nil && lease == nil:
		return nil, fmt.Errorf("worker %d: Lock returned neither a lease nor an error", i)
	case errors.Is(err, context.DeadlineExceeded) && r.ctx.Err() == nil:
		return nil, fmt.Errorf("worker %d: %w within %v although it is free", i, errNoGrant, r.s.patience())
	case err != nil:
		return nil, fmt.Errorf("worker %d: Lock: %w", i, err)
	}
	return lease, nil
}

func (r *fixture) unlock(l harness.Lease) error {
	ctx, cancel := r.patient()
	defer cancel()
	if err := l.Unlock(ctx); err != nil {
		return fmt.Errorf("the holder's Unlock: %w", err)
	}
	return nil
}

func (r *fixture) acquireRelease(i int) error {
	lease, err := r.lock(i)
	if err != nil {
		return err
	}
	return r.unlock(lease)
}

// held returns an error unless the lock is held: worker i tries to take it for a short time.
func (r *fixture) held(i int) error {
	ctx, cancel := context.WithTimeout(r.ctx, soon)
	defer cancel()
	lease, err := r.sessions[i].Lock(ctx)
	switch {
	case err == nil:
		return errors.Join(fmt.Errorf("worker %d got the lock while another worker held it", i), r.unlock(lease))
	case !errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("worker %d: Lock for %v of a held lock: %w, which is not the context's error", i, soon, err)
	}
	return nil
}

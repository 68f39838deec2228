package peers

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/harness"
	"locklab/lock"
)

var (
	errNotHeld  = fmt.Errorf("peers: %w", harness.ErrNotHeld)
	errLost     = fmt.Errorf("peers: %w", harness.ErrLost)
	errReleased = fmt.Errorf("peers: %w", harness.ErrReleased)
)

// unlockWait bounds Unlock, except for Curator.
const unlockWait = 2 * time.Second

// A lease is one acquisition of a peer's lock. Peers have no fencing tokens.
type lease struct {
	alive    context.Context
	end      context.CancelCauseFunc // ends alive with its cause
	until    time.Time               // the lock may be lost then; zero if unknown
	free     func(context.Context) (held bool, err error)
	unlocked atomic.Bool
}

var _ harness.Lease = (*lease)(nil)

// newLease returns a lease that ends with parent, at until or by Unlock, which calls free. free
// reports whether the lock was held until now.
func newLease(parent context.Context, until time.Time, free func(context.Context) (held bool, err error)) *lease {
	l := &lease{until: until, free: free}
	l.alive, l.end = context.WithCancelCause(parent)
	if !until.IsZero() {
		expiry := time.AfterFunc(time.Until(until), func() {
			if !l.unlocked.Load() {
				l.end(fmt.Errorf("%w: its time is over", errLost))
			}
		})
		context.AfterFunc(l.alive, func() { expiry.Stop() })
	}
	return l
}

func (l *lease) Unlock(ctx context.Context) error {
	if l.unlocked.Swap(true) {
		return fmt.Errorf("%w: unlocked before", errNotHeld)
	}
	lost := l.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
	defer cancel()
	held, err := l.free(ctx)
	switch {
	case lost != nil:
		return fmt.Errorf("%w: %w", errNotHeld, lost)
	case err != nil:
		l.end(fmt.Errorf("%w: %w", errLost, err))
		return fmt.Errorf("peers: unlock: %w", err)
	case !held:
		l.end(fmt.Errorf("%w: its key or node was gone", errLost))
		return fmt.Errorf("%w: its key or node was gone", errNotHeld)
	}
	l.end(errReleased)
	return nil
}

func (l *lease) Token() uint64               { return 0 }
func (l *lease) Done() <-chan struct{}       { return l.alive.Done() }
func (l *lease) Err() error                  { return context.Cause(l.alive) }
func (l *lease) Deadline() (time.Time, bool) { return l.until, !l.until.IsZero() }

// await runs f, a function of a library without contexts, until ctx ends.
func await[T any](ctx context.Context, f func() (T, error), drop func(T)) (T, error) {
	start := func(f func()) bool { go f(); return true }
	return lock.Await(ctx, start, nil, f, drop)
}

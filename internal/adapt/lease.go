package adapt

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

const unlockWait = 2 * time.Second

// A Lease is one acquisition of a lock whose library has no leases. It has no fencing token.
type Lease struct {
	alive    context.Context
	end      context.CancelCauseFunc
	free     func(context.Context) (held bool, err error)
	unlocked atomic.Bool

	mu     sync.Mutex
	until  time.Time // the lock may be lost then; zero if it has no end
	expiry *time.Timer
}

var _ harness.Lease = (*Lease)(nil)

// NewLease returns a lease that ends with parent and its cause, at until unless that is zero, or
// by Unlock, which calls free. free reports whether the lock was held until then.
func NewLease(parent context.Context, until time.Time, free func(context.Context) (held bool, err error)) *Lease {
	l := &Lease{until: until, free: free}
	l.alive, l.end = context.WithCancelCause(parent)
	if !until.IsZero() {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.expiry = time.AfterFunc(time.Until(until), l.expire)
		context.AfterFunc(l.alive, func() { l.expiry.Stop() })
	}
	return l
}

func (l *Lease) expire() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if left := time.Until(l.until); left > 0 { // it was extended
		l.expiry.Reset(left)
	} else {
		l.Lose(errors.New("its time is over"))
	}
}

// Extend sets a later end.
func (l *Lease) Extend(until time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.until = until
}

// ErrGone is the reason of a lease whose key or node was not there at a renewal or Unlock.
var ErrGone = errors.New("its key or node was gone, or another holder's")

// Lose ends the lease with an error that wraps [harness.ErrLost] and why, unless Unlock has begun.
func (l *Lease) Lose(why error) {
	if !l.unlocked.Load() {
		l.end(lost(why))
	}
}

func lost(why error) error { return fmt.Errorf("%w: %w", harness.ErrLost, why) }

// Unlock releases the lock, whether or not ctx has ended.
func (l *Lease) Unlock(ctx context.Context) error {
	if l.unlocked.Swap(true) {
		return fmt.Errorf("%w: unlocked before", harness.ErrNotHeld)
	}
	before := l.Err()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
	defer cancel()
	held, err := l.free(ctx)
	switch {
	case err != nil:
		l.end(lost(err))
	case held:
		l.end(harness.ErrReleased)
	default:
		l.end(lost(ErrGone))
	}
	until, ends := l.Deadline()
	switch cause := l.Err(); {
	case errors.Is(cause, harness.ErrReleased):
		return nil
	case err != nil && before == nil && (!ends || time.Now().Before(until)):
		return fmt.Errorf("unlock: %w", err)
	default:
		return fmt.Errorf("%w: %w", harness.ErrNotHeld, cause)
	}
}

// Token returns 0.
func (l *Lease) Token() uint64 { return 0 }

// Context returns a context that ends with the lease, with Err as its cause.
func (l *Lease) Context() context.Context { return l.alive }

// Done returns a channel that is closed when the lease ends.
func (l *Lease) Done() <-chan struct{} { return l.alive.Done() }

// Err returns why the lease ended, nil before.
func (l *Lease) Err() error { return context.Cause(l.alive) }

// Deadline returns the end of the lease, if it has one.
func (l *Lease) Deadline() (time.Time, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.until, !l.until.IsZero()
}

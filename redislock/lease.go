package redislock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/harness"
)

// A Lease is one acquisition of a [Mutex]. Its methods may be used by any
// number of goroutines.
type Lease struct {
	m     *Mutex
	nonce string

	deadline time.Time
	timer    *time.Timer // ends the lease at the deadline

	alive    context.Context // ends with the lease; the cause says why
	end      context.CancelCauseFunc
	unlocked atomic.Bool
}

var _ harness.Lease = (*Lease)(nil)

func newLease(m *Mutex) *Lease {
	l := &Lease{m: m, nonce: rand.Text()}
	l.alive, l.end = context.WithCancelCause(context.Background())
	return l
}

// start begins a lease that a request sent at that time has acquired, and
// reports whether any of it is left. The server's clock may run faster than
// ours: one per cent and two milliseconds are taken off, as in "Distributed
// Locks with Redis" (redis.io), the implementations of Redlock.
func (l *Lease) start(sent time.Time) bool {
	drift := l.m.lease/100 + 2*time.Millisecond
	l.deadline = sent.Add(l.m.lease - drift)
	left := time.Until(l.deadline)
	if left <= 0 {
		return false
	}
	l.timer = time.AfterFunc(left, func() {
		l.end(fmt.Errorf("%w: its lease of %v is over", ErrLost, l.m.lease))
	})
	return true
}

// Unlock releases the lock with one request, whatever has become of ctx, and
// waits at most two seconds for the answer. The error wraps ErrNotHeld if the
// lock was lost or has been released. After any other error the key may stay
// until the lease is over.
//
// Should the client library itself have repeated the request after a lost
// reply, Unlock cannot tell its own success from a loss, and says ErrNotHeld.
func (l *Lease) Unlock(ctx context.Context) error {
	if l.unlocked.Swap(true) {
		return fmt.Errorf("%w: unlocked before", ErrNotHeld)
	}
	done := make(chan error, 1)
	l.m.work.Go(func() { done <- l.release(ctx) })
	timer := time.NewTimer(unlockWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		if lost := l.lost(); lost != nil {
			return lost
		}
		return fmt.Errorf("redislock: unlock %s: the server has not answered for %v", l.m.name, unlockWait)
	}
}

// release deletes the key and ends the lease.
func (l *Lease) release(ctx context.Context) error {
	deleted, err := l.delete(ctx)
	l.timer.Stop()
	switch {
	case err != nil:
		l.end(fmt.Errorf("%w: %w", ErrLost, err))
		if time.Now().Before(l.deadline) {
			return fmt.Errorf("redislock: unlock %s: %w", l.m.name, err)
		}
	case deleted:
		l.end(ErrReleased)
	default:
		l.end(fmt.Errorf("%w: its key was gone or somebody else's", ErrLost))
	}
	return l.lost()
}

// lost returns the error of Unlock if the lease has ended without it.
func (l *Lease) lost() error {
	if cause := l.Err(); cause != nil && !errors.Is(cause, ErrReleased) {
		return fmt.Errorf("%w: %w", ErrNotHeld, cause)
	}
	return nil
}

// delete deletes the key if it carries the nonce of l, whatever has become of
// ctx, and reports whether it was there until now.
func (l *Lease) delete(ctx context.Context) (deleted bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
	defer cancel()
	for failures := 0; ; {
		deleted, err = l.m.run(ctx, releaseScript, l.nonce)
		if err == nil {
			// Gone after a failure: the failed request has done it.
			return deleted || failures > 0, nil
		}
		if failures++; refused(err) || failures == maxFailures || !l.m.pause(ctx) {
			return false, err
		}
	}
}

// Token returns 0: the lock has no fencing token.
func (l *Lease) Token() uint64 { return 0 }

// Done is closed when the lock is released, and at the deadline.
func (l *Lease) Done() <-chan struct{} { return l.alive.Done() }

// Err is nil while the lock is held, then why it ended: ErrReleased, or an
// error that wraps ErrLost.
func (l *Lease) Err() error { return context.Cause(l.alive) }

// Deadline returns until when the lock is surely held if it is not released.
func (l *Lease) Deadline() (time.Time, bool) { return l.deadline, true }

package lab

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"locklab/harness"
)

type plainLease struct {
	p    *process
	name string
	span time.Duration // of the lease; 0 for one without end

	free func(ctx context.Context) (held bool, err error)

	// renew extends the lease to a whole one, and reports whether the lock was held. nil if
	// there is no renewal.
	renew func(ctx context.Context) (held bool, err error)

	alive    context.Context // ends with the lease; the cause is the reason
	end      context.CancelCauseFunc
	unlocked atomic.Bool

	mu       sync.Mutex
	deadline time.Time
	timer    *time.Timer // of tick; nil without an end
}

var _ harness.Lease = (*plainLease)(nil)

var (
	errNotHeld  = fmt.Errorf("redislock: %w", harness.ErrNotHeld)
	errLost     = fmt.Errorf("redislock: %w", harness.ErrLost)
	errReleased = fmt.Errorf("redislock: %w", harness.ErrReleased)
	errTooLate  = errors.New("the answer took longer than the lease")
)

// begin begins a lease that was requested at that time. It fails if none of it is left.
func (l *plainLease) begin(sent time.Time) error {
	l.alive, l.end = context.WithCancelCause(l.p.open)
	if l.span == 0 {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = l.until(sent)
	if !time.Now().Before(l.deadline) {
		return errTooLate
	}
	l.timer = time.AfterFunc(l.next(), l.tick)
	return nil
}

// until returns when a lease requested at that time ends, earlier than in the server by the
// clock tolerance, and by 20 ms, at most a tenth of the lease.
func (l *plainLease) until(sent time.Time) time.Time {
	return sent.Add(l.span - l.span/100 - 2*time.Millisecond - min(20*time.Millisecond, l.span/10))
}

// next returns the time until the next renewal or the end. The caller holds l.mu.
func (l *plainLease) next() time.Duration {
	left := time.Until(l.deadline)
	if l.renew == nil {
		return left
	}
	return min(left, l.span/3)
}

func (l *plainLease) tick() {
	if l.alive.Err() != nil {
		return
	}
	if !time.Now().Before(l.last()) {
		l.end(fmt.Errorf("%w: its lease of %v is over", errLost, l.span))
		return
	}
	if l.renew == nil { // it was extended
		l.mu.Lock()
		l.timer.Reset(max(l.next(), 0))
		l.mu.Unlock()
		return
	}
	l.p.spawn(func() {
		sent := time.Now()
		ctx, cancel := context.WithDeadline(l.alive, l.last())
		defer cancel()
		held, err := l.renew(ctx)
		if err == nil && !held {
			l.gone()
		}
		l.mu.Lock()
		defer l.mu.Unlock()
		if err == nil && held {
			l.deadline = l.until(sent)
		}
		l.timer.Reset(max(l.next(), 0)) // a tick after the end does nothing
	})
}

// extend records a renewal that was requested at that time outside of renew.
func (l *plainLease) extend(sent time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deadline = l.until(sent)
}

func (l *plainLease) gone() {
	if !l.unlocked.Load() {
		l.end(fmt.Errorf("%w: its key was gone or another holder's", errLost))
	}
}

// Unlock releases the lock, whether or not ctx has ended.
func (l *plainLease) Unlock(ctx context.Context) error {
	if l.unlocked.Swap(true) {
		return fmt.Errorf("%w: %s: unlocked before", errNotHeld, l.name)
	}
	type result struct {
		held bool
		err  error
	}
	done := make(chan result, 1)
	if !l.p.spawn(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestWait)
		defer cancel()
		held, err := l.free(ctx)
		done <- result{held, err}
	}) {
		return fmt.Errorf("%w: %w", errNotHeld, errClosed)
	}
	r := <-done
	switch {
	case r.err != nil:
		l.end(fmt.Errorf("%w: %w", errLost, r.err))
	case r.held:
		l.end(errReleased)
	default:
		l.end(fmt.Errorf("%w: its key was gone or another holder's", errLost))
	}
	l.stop()
	switch cause := l.Err(); {
	case errors.Is(cause, harness.ErrReleased):
		return nil
	case r.err != nil && (l.span == 0 || time.Now().Before(l.last())):
		return fmt.Errorf("redislock: unlock %s: %w", l.name, r.err)
	default:
		return fmt.Errorf("%w: %s: %w", errNotHeld, l.name, cause)
	}
}

func (l *plainLease) stop() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.timer != nil {
		l.timer.Stop()
	}
}

func (*plainLease) Token() uint64           { return 0 }
func (l *plainLease) Done() <-chan struct{} { return l.alive.Done() }

func (l *plainLease) Err() error {
	switch cause := context.Cause(l.alive); cause {
	case context.Canceled: // with its process
		return fmt.Errorf("%w: %w", errLost, errClosed)
	default:
		return cause
	}
}

func (l *plainLease) Deadline() (time.Time, bool) { return l.last(), l.span > 0 }

func (l *plainLease) last() time.Time {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.deadline
}

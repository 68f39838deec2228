package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"
)

// A Lease is one acquisition of a lock. It is the owner of the lock: it may be
// passed on, and any goroutine may unlock it. Its methods may be used by any number
// of goroutines.
type Lease struct {
	c     *Client
	name  string
	token uint64

	// free gives the lock back and reports whether it was held until then.
	free func(ctx context.Context) (held bool, err error)

	prompt bool // free ends with its context

	// again is free once more after that failed, nil if there is no point.
	again func(ctx context.Context) error

	// renewal makes it a whole lease again. It answers 1 if the lock was held.
	renewal call
	span    time.Duration // a whole lease
	margin  time.Duration // Options.Margin
	fixed   bool          // it is renewed to its whole length, but not again

	joint *joint                // what it is made of, if it is of several leases
	whole atomic.Pointer[joint] // what it is a part of, or nil

	trace *Trace    // of the Lock that has returned it, or nil
	since time.Time // when it has, if there is a trace

	// Guarded by c.mu.
	deadline   time.Time     // until when the lock is surely held
	from       time.Time     // when the request was sent that gave it that
	term       time.Duration // and what it gave: a whole lease, or the grant timeout
	renewAt    time.Time     // when to ask for more; zero for never
	unanswered bool          // a renewal was sent that has not been answered
	asking     bool          // the latest renewal has neither been answered nor failed
	toldUntil  time.Time     // renewals that were sent before have been told as failed
	refusal    error         // of the latest renewals, by the server; nil if none of them was refused

	alive   context.Context // ends with the lease; the cause says why
	cancel  context.CancelCauseFunc
	ended   atomic.Pointer[time.Time] // when; nil before
	failure atomic.Pointer[error]     // of Unlock, which had ended it; nil if there was none
	state   atomic.Int32
	maxHold time.Duration // Options.MaxHold, if it has begun; guarded by c.mu, as is
	most    time.Time     // when that is over
}

const (
	// A lease is renewed when a third of it is over, and a grant, which is short, after
	// grantRenewal: a holder that is stopped soon after it has got the lock keeps it for a
	// whole lease, and one that is quick sends no renewal.
	grantRenewal = 5 * time.Millisecond

	// A renewal that fails is sent again after this part of the lease.
	renewTries = 10

	// One that is not answered is sent again, by a connection of its own, after this part
	// of the lease, while the earlier ones may still be answered: so there are four times
	// to do it, three of them by connections that are new.
	renewSilence = 6

	// unlockWait bounds Unlock, and what a Lock that failed may still do.
	unlockWait = 2 * time.Second

	// unlockSilence is after how much of that Unlock asks by another connection.
	unlockSilence = time.Second
)

// drift is how much less of a span we count than the server, whose clock may run
// faster: one per cent and two milliseconds, as in "Distributed Locks with
// Redis" (redis.io), the implementations of Redlock.
func drift(span time.Duration) time.Duration { return span/100 + 2*time.Millisecond }

// reserve is how much earlier the holder is told than a server forgets it that has
// granted that span.
func (l *Lease) reserve(span time.Duration) time.Duration {
	margin := l.margin
	if span < l.span { // of a grant
		margin = min(margin, span/10)
	}
	return drift(span) + margin
}

// begin begins a lease that the server has granted for that span, of which it
// surely had not heard before from, and reports whether any of it is left.
func (l *Lease) begin(from time.Time, span time.Duration) bool {
	l.alive, l.cancel = context.WithCancelCause(context.Background())
	l.from, l.term = from, span
	l.deadline = from.Add(span - l.reserve(span))
	switch {
	case span < l.span:
		l.renewAt = l.c.clock.Now().Add(min(grantRenewal, span/3))
	case !l.fixed:
		l.renewAt = from.Add(span / 3)
	}
	return l.c.keep(l)
}

// extend notes a renewal that was sent at that time, and reports whether a later one has
// not been noted before. The caller holds l.c.mu.
func (l *Lease) extend(sent time.Time) bool {
	if !sent.After(l.from) {
		return false
	}
	l.from, l.term, l.unanswered, l.asking, l.refusal = sent, l.span, false, false, nil
	l.deadline = sent.Add(l.span - l.reserve(l.span))
	l.renewAt = time.Time{}
	if !l.fixed {
		l.renewAt = sent.Add(l.span / 3)
	}
	return true
}

// failed notes that a renewal that was sent at that time has failed: there is time until
// the deadline. The caller holds l.c.mu.
func (l *Lease) failed(sent time.Time, err error) {
	if sent.Before(l.from) {
		return // a later one has not
	}
	l.asking = false
	if l.unanswered = !refused(err); !l.unanswered {
		l.refusal = err
	}
	if soon := l.c.clock.Now().Add(l.term / renewTries); soon.Before(l.renewAt) {
		l.renewAt = soon
	}
}

// over returns why l has ended at its deadline. The caller holds l.c.mu.
func (l *Lease) over() error {
	if l.refusal != nil {
		return fmt.Errorf("%w: its lease of %v is over, and its renewal was refused: %w", ErrLost, l.term, explain(l.refusal))
	}
	return fmt.Errorf("%w: its lease of %v is over", ErrLost, l.term)
}

// together returns how much earlier than it must l is renewed with others. The caller holds
// l.c.mu.
func (l *Lease) together() time.Duration {
	if l.term < l.span {
		return min(grantRenewal/2, l.term/renewTries)
	}
	return min(renewTogether, l.term/renewTries)
}

// due returns when the watchdog must run for l. The caller holds l.c.mu.
func (l *Lease) due() time.Time {
	if l.renewAt.IsZero() || l.deadline.Before(l.renewAt) {
		return l.deadline
	}
	return l.renewAt
}

// end ends l, if nothing has before.
func (l *Lease) end(cause error) {
	now := l.c.clock.Now()
	l.ended.CompareAndSwap(nil, &now)
	l.cancel(cause)
}

// finish takes l away from the watchdog and ends it. It returns until when l was surely
// held.
func (l *Lease) finish(cause error) time.Time {
	until := l.until()
	l.c.drop(l)
	l.end(cause)
	return until
}

// Unlock releases the lock with one request, whatever has become of ctx. The lease is over
// when Unlock is called: Done is closed, Err is not nil, and the deadline is past.
//
// While the server cannot be reached, or refuses for now, as when it loads its data, Unlock
// asks again for two seconds, after one second by a new connection; then its error wraps
// ErrUnanswered. It wraps ErrNotHeld if the lock was lost, may have been lost before the
// server answered, or has been released. After any error the client asks on in the
// background, until the server has answered, or forgets the lock by itself.
//
// Should the client library itself have repeated the request after a lost
// reply, Unlock cannot tell its own success from a loss, and says ErrNotHeld.
func (l *Lease) Unlock(ctx context.Context) error {
	if !l.state.CompareAndSwap(stateHeld, stateUnlocked) {
		if l.state.CompareAndSwap(stateRevoked, stateUnlocked) {
			return l.lost()
		}
		return fmt.Errorf("%w: %s: unlocked before", ErrNotHeld, l.name)
	}
	until := l.finish(ErrReleased)
	if l.prompt { // in another goroutine it would take some microseconds longer
		var err error
		if !l.c.here(func() { err = l.release(ctx, until) }) {
			return l.fail(ErrClosed, until)
		}
		return err
	}
	done := make(chan error, 1)
	if !l.c.spawn(func() { done <- l.release(ctx, until) }) {
		return l.fail(ErrClosed, until)
	}
	timer := time.NewTimer(unlockWait)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return l.fail(fmt.Errorf("no answer to Unlock for %v", unlockWait), until)
	}
}

// release gives the lock back for Unlock. The lease, which was held until that time, has
// ended.
func (l *Lease) release(ctx context.Context, until time.Time) error {
	held, err := l.yield(ctx, until)
	switch {
	case err != nil:
		return l.fail(err, until)
	case !held:
		l.lose(errGone)
	case l.lost() == nil:
		l.released()
	}
	return l.lost()
}

// revoke ends l with that cause, unless Unlock has been called, and gives the lock back.
func (l *Lease) revoke(cause error) error {
	if !l.state.CompareAndSwap(stateHeld, stateRevoked) {
		return nil
	}
	_, err := l.yield(context.Background(), l.finish(cause))
	if errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrUnanswered) {
		return nil // it was lost before
	}
	return err
}

// yield gives the lock back, in the background if that fails, and reports whether it was held
// until then.
func (l *Lease) yield(ctx context.Context, until time.Time) (held bool, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(given(ctx)), unlockWait)
	defer cancel()
	ctx = context.WithValue(ctx, untilKey{}, until)
	if l.trace != nil {
		ctx = context.WithValue(ctx, traceKey{}, l.trace)
	}
	began := l.c.clock.Now()
	held, err = l.giveBack(ctx)
	if judge(err) == foreign {
		return false, nil
	}
	if err != nil && l.again != nil { // the others need not wait for the end of the lease
		l.c.later(l.name, began.Add(l.span), nil, l.again, nil)
	}
	return held, err
}

var errGone = errors.New("its key was gone or another holder's")

// lose notes that Unlock has failed.
func (l *Lease) lose(err error) {
	err = fmt.Errorf("%w: %w", ErrLost, err)
	if context.Cause(l.alive) == ErrReleased && l.failure.CompareAndSwap(nil, &err) && l.trace != nil {
		tell(l.trace.Lost, LostInfo{l.name, l.token, err})
	}
}

// fail returns the error of an Unlock that has failed with err.
func (l *Lease) fail(err error, until time.Time) error {
	l.lose(err)
	switch {
	case errors.Is(err, ErrNotHeld) || errors.Is(err, ErrClosed) || !l.c.clock.Now().Before(until):
		return l.lost()
	case errors.Is(err, ErrUnanswered) || l.c.final(err): // of parts, or not to be retried
		return fmt.Errorf("redislock: unlock %s: %w", l.name, explain(err))
	default:
		return fmt.Errorf("%w: unlock %s: %w", ErrUnanswered, l.name, explain(err))
	}
}

type untilKey struct{}

// inTime reports whether the lease that ctx releases is surely not over by itself: then a
// key that is gone was deleted by an earlier request of ours.
func (c *Client) inTime(ctx context.Context) bool {
	until, ok := ctx.Value(untilKey{}).(time.Time)
	return !ok || c.clock.Now().Before(until)
}

// giveBack gives the lock back.
func (l *Lease) giveBack(ctx context.Context) (held bool, err error) {
	if l.again == nil {
		return l.free(ctx)
	}
	return answered(ctx, l.c, l.name, unlockSilence, l.free, func(ctx context.Context) (bool, error) {
		err := l.again(ctx)
		return err == nil, err
	})
}

// lost returns the error of Unlock if the lease has ended without it.
func (l *Lease) lost() error {
	if cause := l.Err(); cause != nil && !errors.Is(cause, ErrReleased) {
		return fmt.Errorf("%w: %s: %w", ErrNotHeld, l.name, cause)
	}
	return nil
}

// Token returns the fencing token, which rises strictly from holder to holder
// as long as the server keeps its data, or 0 if the lock has none. On what happens
// where it does not, see the package comment.
func (l *Lease) Token() uint64 { return l.token }

// Done is closed when Unlock is called, when a renewal finds the lock lost, and at
// the deadline.
func (l *Lease) Done() <-chan struct{} { return l.alive.Done() }

// Err is nil while the lock is held, then why it ended: ErrReleased, or an
// error that wraps ErrLost, which Unlock may also find.
func (l *Lease) Err() error {
	if l.joint != nil {
		l.joint.check() // the news may be on its way
	}
	if failure := l.failure.Load(); failure != nil {
		return *failure
	}
	if l.alive.Err() == nil {
		l.expire()
	}
	return context.Cause(l.alive)
}

// expire ends l if its time is over. The timer that does so as well is late if the machine
// was suspended.
func (l *Lease) expire() {
	now := l.c.clock.Now()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	switch {
	case !l.most.IsZero() && !now.Before(l.most):
		l.end(l.overdueErr())
	case !l.deadline.IsZero() && !now.Before(l.deadline):
		l.end(l.over())
	}
}

// Deadline returns until when the lock is surely held if it is not released. It moves on
// with each renewal, up to Options.MaxHold. It counts the time that the machine is
// suspended until the call, as Err does; time.Until of it does not count a later suspend.
// Right before the holder acts it calls Deadline or Err. Done is closed by a timer of Go,
// which such a suspend delays.
func (l *Lease) Deadline() (time.Time, bool) { return l.c.clock.Local(l.until()), true }

// fresh reports whether the server has said within so long that the lock is held.
func (l *Lease) fresh(within time.Duration) bool {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.c.clock.Since(l.from) < within
}

func (l *Lease) until() time.Time {
	var until time.Time
	if l.joint != nil {
		until = l.joint.until()
	}
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	if l.joint == nil {
		until = l.deadline
	}
	if !l.most.IsZero() && l.most.Before(until) {
		until = l.most
	}
	if ended := l.ended.Load(); ended != nil && ended.Before(until) {
		until = *ended
	}
	return until
}

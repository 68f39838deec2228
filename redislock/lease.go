package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"locklab/lock"
)

// A Lease is one acquisition of a lock: it may be passed on, and any goroutine may unlock it.
// Its methods are safe for concurrent use.
type Lease struct {
	c     *Client
	name  string
	token uint64

	free func(ctx context.Context) (held bool, err error)

	prompt bool // free ends with its context

	// again repeats free after a failure; nil if that is pointless.
	again func(ctx context.Context) (held bool, err error)

	// renewal extends the lease to a whole one. Its answer is 1 if the lock was held.
	renewal call
	span    time.Duration // a whole lease
	margin  time.Duration // Options.Margin
	fixed   bool          // it is extended to a whole lease, but not renewed after that

	joint *joint                // its parts, if it has several
	whole atomic.Pointer[joint] // the lease that it is a part of, or nil

	told   // to a trace
	timing // guarded by c.mu
	ending
}

// told is the trace of a lease, and when its Lock returned.
type told struct {
	trace *Trace    // of the Lock that has returned it, or nil
	since time.Time // when that Lock returned, if there is a trace
}

// A timing is the time of a lease and its renewals.
type timing struct {
	deadline   time.Time     // until when the lock is certainly held
	from       time.Time     // when the request that granted this time was sent
	term       time.Duration // the time that it granted: a whole lease, or the grant timeout
	renewAt    time.Time     // next renewal; zero for never
	unanswered bool          // a renewal was sent that has not been answered
	asking     bool          // the latest renewal has neither been answered nor failed
	toldUntil  time.Time     // failures of renewals sent before this have been reported
	refusal    error         // of the latest renewals, by the server; nil if none of them was refused
	limit      lock.Limit    // of Options.MaxHold
}

// An ending is how a lease ended, or can end.
type ending struct {
	alive   context.Context // ends with the lease; the cause is the reason
	cancel  context.CancelCauseFunc
	ended   atomic.Pointer[time.Time] // when; nil before
	failure atomic.Pointer[error]     // of Unlock, which ended it; nil without one
	state   atomic.Int32
}

const (
	// A lease is renewed when a third of it is over, and a grant, which is short, after
	// grantRenewal. So a holder that is paused soon after it got the lock keeps it for a
	// whole lease, and a quick one sends no renewal.
	grantRenewal = 5 * time.Millisecond

	// A renewal that fails is sent again after this part of the lease.
	renewTries = 10

	// A renewal without an answer is sent again on a new connection after this part of the
	// lease, so there are four attempts, three of them on new connections.
	renewSilence = 6

	// unlockWait bounds Unlock, and the cleanup of a failed Lock.
	unlockWait = 2 * time.Second

	// unlockSilence is the wait without an answer after which Unlock asks on another connection.
	unlockSilence = time.Second
)

// drift is how much shorter we count a span than the server: one per cent and two milliseconds,
// as the implementations of Redlock do ("Distributed Locks with Redis", redis.io).
func drift(span time.Duration) time.Duration { return span/100 + 2*time.Millisecond }

// reserve is how much earlier the holder's lease ends than a server's grant of that span.
func (l *Lease) reserve(span time.Duration) time.Duration {
	margin := l.margin
	if span < l.span { // of a grant
		margin = min(margin, span/10)
	}
	return drift(span) + margin
}

// begin begins a lease that the server has granted for span. The server received the
// request after from. It reports whether any of the lease is left. A client with a longer
// lease may grant more than l.span. The first renewal shortens it to that.
func (l *Lease) begin(from time.Time, span time.Duration) bool {
	l.alive, l.cancel = context.WithCancelCause(context.Background())
	l.last(from, min(span, l.span))
	return l.c.keep(l)
}

// last sets until when l is held: the server has granted span to a request that was sent at from.
func (l *Lease) last(from time.Time, span time.Duration) {
	l.from, l.term, l.renewAt = from, span, time.Time{}
	l.deadline = from.Add(span - l.reserve(span))
	switch {
	case span < l.span:
		l.renewAt = l.c.clock.Now().Add(min(grantRenewal, span/3))
	case !l.fixed:
		l.renewAt = from.Add(span / 3)
	}
}

func (l *Lease) granted(sent time.Time) (*Lease, error) {
	if !l.begin(sent, l.span) {
		return nil, fmt.Errorf("the answer took longer than the lease of %v", l.span)
	}
	return l, nil
}

// extend records a renewal that was sent then, unless a later one is. The caller holds l.c.mu.
func (l *Lease) extend(sent time.Time) bool {
	if !sent.After(l.from) {
		return false
	}
	l.last(sent, l.span)
	l.unanswered, l.asking, l.refusal = false, false, nil
	return true
}

// failed records a failed renewal; the lease stays until its deadline. The caller holds l.c.mu.
func (l *Lease) failed(sent time.Time, err error) {
	if sent.Before(l.from) {
		return // a later one has succeeded
	}
	l.asking = false
	if l.unanswered = !refused(err); !l.unanswered {
		l.refusal = err
	}
	if soon := l.c.clock.Now().Add(l.term / renewTries); soon.Before(l.renewAt) {
		l.renewAt = soon
	}
}

// The caller holds l.c.mu.
func (l *Lease) over() error {
	if l.refusal != nil {
		return fmt.Errorf("%w: its lease of %v is over, and its renewal was refused: %w", ErrLost, l.term, explain(l.refusal))
	}
	return fmt.Errorf("%w: its lease of %v is over", ErrLost, l.term)
}

// together returns how much earlier l may be renewed to join others. The caller holds l.c.mu.
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

func (l *Lease) end(cause error) {
	now := l.c.clock.Now()
	l.ended.CompareAndSwap(nil, &now)
	l.cancel(cause)
}

// finish returns until when l was certainly held.
func (l *Lease) finish(cause error) time.Time {
	until := l.until()
	l.c.drop(l)
	l.end(cause)
	return until
}

// Unlock releases the lock with one request, whether or not ctx has ended. When Unlock is
// called, the lease is over: Done is closed, Err is not nil, and the deadline is past.
//
// While the server is unreachable or refuses temporarily (for example, it loads), Unlock
// repeats the request for two seconds, after one second on a new connection. Then its error
// wraps ErrUnanswered. The error wraps ErrNotHeld if the lock was lost, may have been lost
// before the server answered, or has been released. After any error the client continues in
// the background.
//
// If the reply to a try was lost and the next one finds no lock, the error is ErrNotHeld: either
// the first try released the lock, or the server had lost it before. Unlock of a Redlock may
// return ErrNotHeld if two or more of its clients shut down during the call: they have released it.
func (l *Lease) Unlock(ctx context.Context) error {
	if !l.state.CompareAndSwap(stateHeld, stateUnlocked) {
		if l.state.CompareAndSwap(stateRevoked, stateUnlocked) {
			<-l.alive.Done() // revoke is about to end it
			return l.lost()
		}
		return fmt.Errorf("%w: %s: unlocked before", ErrNotHeld, l.name)
	}
	// The task begins before the lease ends, so that Shutdown waits for it.
	if l.prompt { // another goroutine would cost some microseconds
		begun := l.c.taskBegins()
		until := l.finish(ErrReleased)
		if !begun {
			return l.fail(ErrClosed, until)
		}
		defer l.c.taskEnds()
		return l.release(ctx, until)
	}
	over, done := make(chan time.Time, 1), make(chan error, 1)
	begun := l.task(func() { done <- l.release(ctx, <-over) })
	until := l.finish(ErrReleased)
	if !begun {
		return l.fail(ErrClosed, until)
	}
	over <- until
	select {
	case err := <-done:
		return err
	case <-time.After(unlockWait):
		return l.fail(fmt.Errorf("no answer to Unlock for %v", unlockWait), until)
	}
}

// release gives the lock back for Unlock. The lease has ended and was held until that time.
func (l *Lease) release(ctx context.Context, until time.Time) error {
	held, err := l.yield(ctx)
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

func (l *Lease) revoke(cause error) error {
	if !l.state.CompareAndSwap(stateHeld, stateRevoked) {
		return nil
	}
	l.finish(cause)
	_, err := l.yield(context.Background())
	if errors.Is(err, ErrNotHeld) && !errors.Is(err, ErrUnanswered) {
		return nil // it was lost before
	}
	return err
}

// yield gives the lock back, in the background if need be, and reports whether it was held.
func (l *Lease) yield(ctx context.Context) (held bool, err error) {
	defer l.c.forget(l)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(lock.Given(ctx)), unlockWait)
	defer cancel()
	if t := l.tracer(); t != nil {
		ctx = lock.OnlyTrace(ctx, t)
	}
	began := l.c.clock.Now()
	held, err = l.giveBack(ctx)
	if verdictOf(err) == foreign {
		return false, nil
	}
	if err != nil && l.again != nil { // the others need not wait for the end of the lease
		l.c.later(l.name, began.Add(l.span), err, l.again)
	}
	return held, err
}

var errGone = errors.New("its key was gone or another holder's")

func (l *Lease) lose(err error) {
	err = fmt.Errorf("%w: %w", ErrLost, err)
	if context.Cause(l.alive) == ErrReleased && l.failure.CompareAndSwap(nil, &err) && l.trace != nil {
		lock.Notify(l.trace.Lost, lock.LostInfo{Name: l.name, Token: l.token, Err: err})
	}
}

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

func (l *Lease) lost() error {
	if cause := l.Err(); cause != nil && !errors.Is(cause, ErrReleased) {
		return fmt.Errorf("%w: %s: %w", ErrNotHeld, l.name, cause)
	}
	return nil
}

// Token returns the fencing token, or 0. It rises strictly while the server keeps its data.
func (l *Lease) Token() uint64 { return l.token }

// Done returns a channel that closes at Unlock, when a renewal finds a loss, and at the
// deadline.
func (l *Lease) Done() <-chan struct{} { return l.alive.Done() }

// Err returns nil while the lock is held, then ErrReleased, or an error that wraps ErrLost.
func (l *Lease) Err() error {
	if l.joint != nil {
		l.joint.check() // the end of a part may not have been noticed yet
	}
	if failure := l.failure.Load(); failure != nil {
		return *failure
	}
	if l.alive.Err() == nil {
		l.expire()
	}
	return context.Cause(l.alive)
}

// expire ends l if its time is over: after a suspend the timer is late.
func (l *Lease) expire() {
	now := l.c.clock.Now()
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	switch {
	case l.limit.Over(now):
		l.end(l.limit.Err(ErrLost))
	case !l.deadline.IsZero() && !now.Before(l.deadline):
		l.end(l.over())
		delete(l.c.leases, l) // a renewal under way must not prolong it
	}
}

// Deadline returns until when the lock is certainly held; renewals extend it, up to
// Options.MaxHold. Like Err it includes suspends of the machine before the call. A later
// suspend delays Done and time.Until: call Deadline or Err right before acting.
func (l *Lease) Deadline() (time.Time, bool) { return l.c.clock.Local(l.until()), true }

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
	until = l.limit.Bound(until)
	if ended := l.ended.Load(); ended != nil && ended.Before(until) {
		until = *ended
	}
	return until
}

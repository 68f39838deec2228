package redislock

import (
	"context"
	"time"

	"locklab/lock"
)

// Trace has functions that are called at the steps of a Lock, see [lock.Trace].
//
// A [Multi] and a [Redlock] consist of locks: each request and each wait for one of them is a
// step. Their lease is one: Renewed is called once when its Deadline has moved, but
// RenewalFailed for each part whose renewal fails, with the time that the whole has left. A
// renewal fails if the server refuses it or does not answer in a sixth of the lease. Released
// is called before Unlock returns without an error.
//
// A [Cohort] asks the server for several of its waiters at once. Those requests, and the first
// waiter's wait for other processes, are no steps of any of them, but Queued is called behind
// others of the same process. ClientOptions.Trace gets those requests.
//
// It is the type of package lock, as are its events: one Trace serves the locks of every library.
type Trace = lock.Trace

// WithTrace returns a context for Lock, TryLock, ForceUnlock and Do, see [lock.WithTrace].
func WithTrace(ctx context.Context, t *Trace) context.Context { return lock.WithTrace(ctx, t) }

func (c *Client) requests() *Trace {
	if c.trace == nil {
		return nil
	}
	return &Trace{Sent: c.trace.Sent, Answered: c.trace.Answered}
}

func (l *Lease) traceAs(t *Trace) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.trace, l.since = t, time.Now()
}

// tracer: the client may give l back before Lock has set the trace.
func (l *Lease) tracer() *Trace {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	return l.trace
}

func (c *Client) traced(ctx context.Context) context.Context {
	ctx = lock.Given(ctx)
	if c.trace == nil {
		return ctx
	}
	return lock.OnlyTrace(ctx, lock.TraceOf(ctx).And(c.trace))
}

// notifyOutcome reports the result of Lock to t, and gives t to the lease.
func notifyOutcome(t *Trace, name string, began time.Time, l *Lease, err error) {
	now := time.Now()
	if err != nil {
		lock.Notify(t.Failed, lock.FailedInfo{Name: name, Wait: now.Sub(began), Err: err})
		return
	}
	lock.Notify(t.Granted, lock.GrantedInfo{Name: name, Token: l.token, Wait: now.Sub(began)})
	l.traceAs(t)
	if t.Lost == nil {
		return
	}
	context.AfterFunc(l.alive, func() {
		if err := context.Cause(l.alive); err != ErrReleased {
			t.Lost(lock.LostInfo{Name: l.name, Token: l.token, Err: err})
		}
	})
}

func (l *Lease) renewalFailed(err error) {
	if j := l.whole.Load(); j != nil {
		l = j.all
	}
	if t := l.tracer(); t != nil {
		lock.Notify(t.RenewalFailed, lock.RenewalFailedInfo{Name: l.name, Err: explain(err), Left: max(0, l.c.clock.Until(l.until()))})
	}
}

func (l *Lease) released() {
	if l.trace != nil {
		lock.Notify(l.trace.Released, lock.ReleasedInfo{Name: l.name, Token: l.token, Held: time.Since(l.since)})
	}
}

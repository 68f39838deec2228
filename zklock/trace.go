package zklock

import (
	"context"
	"time"

	"locklab/lock"
)

// Trace has functions that are called at the steps of a Lock, see [lock.Trace]. Requests are
// no steps here, see [Client.Stats].
//
// A [Multi] waits for one lock after the other: each wait is a step, with the path of that
// lock. The lease has the first path. The two queues of a [SemaphoreV2] have its own path.
// Of the goroutines that wait with one [Owner] one queues; the others are Queued with -1 ahead.
// A [Cohort] queues at the servers for all its
// waiters, which is no step of any of them, but Queued is called behind others of the same
// client.
//
// Renewed is called when a majority of the servers has confirmed the session; if the client
// writes much, for some of the writes. RenewalFailed is called once until the next
// confirmation: when one failed, was not answered in half a second or an eighth of the session
// timeout if that is more, or when there is no server to ask. Released may be called after
// Unlock has returned ErrUnanswered.
//
// It is the type of package lock, as are its events: one Trace serves the locks of every library.
type Trace = lock.Trace

// WithTrace returns a context for Lock, TryLock and Do, see [lock.WithTrace].
func WithTrace(ctx context.Context, t *Trace) context.Context { return lock.WithTrace(ctx, t) }

// An attempt is a Lock that is to be told to a Trace, if there is one.
type attempt struct {
	most  time.Duration // Options.MaxHold
	t     *Trace        // or nil
	name  string
	began time.Time
}

func (q *queue) begin(ctx context.Context) (context.Context, attempt) {
	ctx = lock.Given(ctx)
	t := lock.TraceOf(ctx).And(q.c.trace)
	if t == nil {
		return ctx, attempt{most: q.o.MaxHold}
	}
	return lock.OnlyTrace(ctx, t), attempt{q.o.MaxHold, t, q.name, time.Now()}
}

// end returns the results of the Lock, which it reports, with the lease's later events.
func (a attempt) end(l *Lease, err error) (*Lease, error) {
	if err == nil && a.most > 0 {
		l.limit.Begin(l.alive, a.most, l.q.c.clock.Now, l.overdue)
	}
	if a.t == nil {
		return l, err
	}
	now := time.Now()
	if err != nil {
		lock.Notify(a.t.Failed, lock.FailedInfo{Name: a.name, Wait: now.Sub(a.began), Err: err})
		return l, err
	}
	lock.Notify(a.t.Granted, lock.GrantedInfo{Name: a.name, Token: l.token, Wait: now.Sub(a.began)})
	until := l.limit.Bound(l.q.c.deadline())
	c := l.q.c
	c.mu.Lock()
	l.trace, l.since = a.t, now
	c.traced[l] = until
	c.mu.Unlock()
	context.AfterFunc(l.alive, l.ended)
	return l, nil
}

func (l *Lease) ended() {
	l.q.c.mu.Lock()
	delete(l.q.c.traced, l)
	l.q.c.mu.Unlock()
	if err := l.Err(); err != ErrReleased {
		lock.Notify(l.trace.Lost, lock.LostInfo{Name: l.q.name, Token: l.token, Err: err})
	}
}

func (l *Lease) released() {
	if l.trace != nil {
		lock.Notify(l.trace.Released, lock.ReleasedInfo{Name: l.q.name, Token: l.token, Held: time.Since(l.since)})
	}
}

func (c *Client) renewed() {
	until := c.deadline()
	for _, l := range c.tracedUntil(until) {
		lock.Notify(l.trace.Renewed, lock.RenewedInfo{Name: l.q.name, Token: l.token, Until: c.clock.Local(l.limit.Bound(until))})
	}
}

// tracedUntil returns the leases with a Trace that has no report that they last until then.
func (c *Client) tracedUntil(until time.Time) (ls []*Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, told := range c.traced {
		if until := l.limit.Bound(until); until.After(told) && l.owned.Err() == nil {
			c.traced[l] = until
			ls = append(ls, l)
		}
	}
	return ls
}

// renewalFailed tells the leases that have a Trace that the session was not confirmed, but
// not twice of one contact. The caller holds c.mu.
func (c *Client) renewalFailed(err error) {
	if c.contacts.told {
		return
	}
	c.contacts.told = true
	until := c.deadline()
	for l := range c.traced {
		left := max(0, c.clock.Until(l.limit.Bound(until)))
		if l.owned.Err() == nil && l.trace.RenewalFailed != nil {
			c.work.Go(func() { l.trace.RenewalFailed(lock.RenewalFailedInfo{Name: l.q.name, Err: err, Left: left}) })
		}
	}
}

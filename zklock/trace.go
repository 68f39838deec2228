package zklock

import (
	"cmp"
	"context"
	"time"
)

// A Trace is functions that are called at the steps of a Lock, and of the lease
// it returns, if [WithTrace] has put them into its context, or for every Lock of a
// client by [ClientOptions].Trace; those that are nil are not called. Where there is no
// Trace that costs a look into the context. Its steps have the names that they have in
// package redislock; requests are no steps here, see [Client.Stats].
//
// The functions may be called from any goroutine, several at once, and after Lock has
// returned. They must not block: the lock waits for them.
//
// Of a lock that is made of others, a [Multi], each wait for one of them is a step, with
// the path of that one. What becomes of the lease is told of the whole, with the first
// path. The two queues of a [SemaphoreV2] have its own path.
// Goroutines that wait with one [Owner] share a place in the queue: the first is told of
// it, the others are Queued with -1 ahead, and not Woken. A [Cohort] queues at the servers
// for all of its waiters: that is no step of any of them, but Queued is called behind
// others of the same client.
type Trace struct {
	// Queued is called once, when another has the lock, so that Lock waits.
	Queued func(QueuedInfo)

	// Woken is called when a wait is over: the lock is had, or is to be looked at again.
	Woken func(WokenInfo)

	// Granted is called before Lock returns a lease, and Failed before it returns
	// an error.
	Granted func(GrantedInfo)
	Failed  func(FailedInfo)

	// Renewed is called when a majority of the servers has confirmed the session, so
	// that the lease lasts longer; if the client writes much, for some of the writes.
	// RenewalFailed is called when a confirmation was asked for that has failed or was not
	// answered in time, half a second or an eighth of the session timeout if that is
	// more, or when there is no server to ask; once until the servers confirm it again.
	Renewed       func(RenewedInfo)
	RenewalFailed func(RenewalFailedInfo)

	// Released is called when Unlock has given the lock back, which may be after it
	// has returned ErrUnanswered, and Lost when the lease ends in another way.
	Released func(ReleasedInfo)
	Lost     func(LostInfo)
}

// QueuedInfo is the beginning of a wait. Ahead is how many waiters were to be
// served before this one, the holders not among them, or -1 if that is not known.
type QueuedInfo struct {
	Name  string // the path of the lock, here and below
	Ahead int
}

// A Wake is why a wait is over.
type Wake string

const (
	WakeGrant   Wake = "grant"   // an event says that this waiter has the lock
	WakeMessage Wake = "message" // an event says that the lock may be free
	WakeTime    Wake = "time"    // it is time to look again
	WakeDoubt   Wake = "doubt"   // the ticket was deleted, or events may have been lost
)

// WokenInfo is the end of a wait.
type WokenInfo struct {
	Name string
	Why  Wake
}

// GrantedInfo is a Lock that has succeeded after Wait. Token is that of the lease.
type GrantedInfo struct {
	Name  string
	Token uint64
	Wait  time.Duration
}

// FailedInfo is a Lock that has failed after Wait.
type FailedInfo struct {
	Name string
	Wait time.Duration
	Err  error
}

// RenewedInfo is a lease that now lasts until that time, see [Lease.Deadline].
type RenewedInfo struct {
	Name  string
	Token uint64
	Until time.Time
}

// RenewalFailedInfo is a confirmation that has failed, with so much of the lease left.
type RenewalFailedInfo struct {
	Name string
	Err  error
	Left time.Duration
}

// ReleasedInfo is an Unlock of a lease that Lock had returned so long ago.
type ReleasedInfo struct {
	Name  string
	Token uint64
	Held  time.Duration
}

// LostInfo is a lease that has ended without Unlock. Err wraps ErrLost.
type LostInfo struct {
	Name  string
	Token uint64
	Err   error
}

type traceKey struct{}

// WithTrace returns a context for Lock, TryLock and Do. The functions of a Trace that is
// in ctx already are called too, after those of t. What a lease does goes to the Trace
// of its Lock, whatever the context of Unlock is.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	ctx = orBackground(ctx)
	if old := traceOf(ctx); old != nil {
		t = t.and(old)
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// and returns a Trace whose functions call those of t and old.
func (t *Trace) and(old *Trace) *Trace {
	return &Trace{
		both(t.Queued, old.Queued), both(t.Woken, old.Woken),
		both(t.Granted, old.Granted), both(t.Failed, old.Failed),
		both(t.Renewed, old.Renewed), both(t.RenewalFailed, old.RenewalFailed),
		both(t.Released, old.Released), both(t.Lost, old.Lost),
	}
}

// both returns a function that calls f and g, of which either may be nil.
func both[E any](f, g func(E)) func(E) {
	return func(e E) {
		tell(f, e)
		tell(g, e)
	}
}

// tell calls f, if it is not nil.
func tell[E any](f func(E), e E) {
	if f != nil {
		f(e)
	}
}

// traceOf returns what WithTrace has put into ctx, or nil.
func traceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// queued and woken are for a Lock that has t, which may be nil.
func (t *Trace) queued(name string, ahead int) {
	if t != nil {
		tell(t.Queued, QueuedInfo{name, ahead})
	}
}

func (t *Trace) woken(name string, why Wake) {
	if t != nil && why != "" {
		tell(t.Woken, WokenInfo{name, why})
	}
}

// An attempt is a Lock that is to be told to a Trace, if there is one.
type attempt struct {
	most  time.Duration // Options.MaxHold
	t     *Trace        // or nil
	name  string
	began time.Time
}

// begin returns ctx, which does not end if it is nil, with the Trace of the client besides
// its own, and the Lock that begins with it.
func (q *queue) begin(ctx context.Context) (context.Context, attempt) {
	ctx = orBackground(ctx)
	t, more := traceOf(ctx), q.c.trace
	switch {
	case t == nil && more == nil:
		return ctx, attempt{most: q.o.MaxHold}
	case t == nil:
		t = more
	case more != nil:
		t = t.and(more)
	}
	return context.WithValue(ctx, traceKey{}, t), attempt{q.o.MaxHold, t, q.lockPath(), time.Now()}
}

// lockPath returns the path of the lock that the tickets are of.
func (q *queue) lockPath() string { return cmp.Or(q.name, q.path) }

// end returns what the Lock returns, which it tells, and has the lease tell what becomes
// of it, and end with MaxHold.
func (a attempt) end(l *Lease, err error) (*Lease, error) {
	if err == nil && a.most > 0 {
		l.limit(a.most)
	}
	if a.t == nil {
		return l, err
	}
	now := time.Now()
	if err != nil {
		tell(a.t.Failed, FailedInfo{a.name, now.Sub(a.began), err})
		return l, err
	}
	tell(a.t.Granted, GrantedInfo{a.name, l.token, now.Sub(a.began)})
	until := l.bounded(l.c.deadline())
	c := l.c
	c.mu.Lock()
	l.trace, l.since = a.t, now
	if c.traced == nil {
		c.traced = make(map[*Lease]time.Time)
	}
	c.traced[l] = until
	c.mu.Unlock()
	context.AfterFunc(l.alive, l.ended)
	return l, nil
}

// ended tells of a loss when a lease that has a Trace has ended.
func (l *Lease) ended() {
	l.c.mu.Lock()
	delete(l.c.traced, l)
	l.c.mu.Unlock()
	if err := l.Err(); err != ErrReleased {
		tell(l.trace.Lost, LostInfo{l.lockPath(), l.token, err})
	}
}

// lockPath returns the path of the lock.
func (l *Lease) lockPath() string { return cmp.Or(l.name, l.path) }

// released tells the Trace of l, if there is one, that Unlock has succeeded.
func (l *Lease) released() {
	if l.trace != nil {
		tell(l.trace.Released, ReleasedInfo{l.lockPath(), l.token, time.Since(l.since)})
	}
}

// renewed tells the leases that have a Trace that they last longer, if they do.
func (c *Client) renewed() {
	until := c.deadline()
	for _, l := range c.tracedUntil(until) {
		tell(l.trace.Renewed, RenewedInfo{l.lockPath(), l.token, c.clock.Local(l.bounded(until))})
	}
}

// tracedUntil returns the leases that have a Trace which has not heard that they last until
// then.
func (c *Client) tracedUntil(until time.Time) (ls []*Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for l, told := range c.traced {
		if until := l.bounded(until); until.After(told) && l.owned.Err() == nil {
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
		left := max(0, c.clock.Until(l.bounded(until)))
		if l.owned.Err() == nil && l.trace.RenewalFailed != nil {
			c.work.Go(func() { l.trace.RenewalFailed(RenewalFailedInfo{l.lockPath(), err, left}) })
		}
	}
}

package redislock

import (
	"context"
	"time"
)

// A Trace is functions that are called at the steps of a Lock, and of the lease
// it returns, if [WithTrace] has put them into its context, or for every Lock of a
// client by [ClientOptions].Trace; those that are nil are not called. Where there is no
// Trace that costs a look into the context.
//
// They may be called from any goroutine, several at once, and after Lock has
// returned. They must not block: the lock waits for them.
//
// Of a lock that is made of others, a [Multi] or a [Redlock], each request and
// each wait for one of them is a step. What becomes of the lease is told of the whole:
// Renewed once when its Deadline has moved on, and not for each part; but RenewalFailed
// for each part whose renewal fails, with what is left of the whole. A [Cohort] asks
// the server for several of its waiters at once: those requests are no steps of any of
// them, nor is the wait of the first of them for other processes, but Queued is called
// behind others of the same process. ClientOptions.Trace is told of those requests.
type Trace struct {
	// Sent is called before a request is sent, and Answered when its answer has
	// come, or none. Requests that renew a lease are not among them.
	Sent     func(SentInfo)
	Answered func(AnsweredInfo)

	// Queued is called when another client has the lock, so that Lock waits.
	Queued func(QueuedInfo)

	// Woken is called when a wait is over: to look at what has come, or to ask
	// again.
	Woken func(WokenInfo)

	// Granted is called before Lock returns a lease, and Failed before it returns
	// an error.
	Granted func(GrantedInfo)
	Failed  func(FailedInfo)

	// Renewed is called when a lease has become a whole one again, and RenewalFailed when
	// a renewal was sent that the server has refused, or not answered in a sixth of
	// the lease. As long as there is time left it is sent again.
	Renewed       func(RenewedInfo)
	RenewalFailed func(RenewalFailedInfo)

	// Released is called before Unlock returns without an error, and Lost when the
	// lease ends in another way.
	Released func(ReleasedInfo)
	Lost     func(LostInfo)
}

// SentInfo is a request about the lock with that name. Op is what it does:
// "acquire", "release", which a Lock that gives up sends too, or "force".
type SentInfo struct{ Name, Op string }

// AnsweredInfo is what has come of a request after Took.
type AnsweredInfo struct {
	Name, Op string
	Took     time.Duration
	Err      error // nil if the server has answered with anything but an error
}

// QueuedInfo is the beginning of a wait. Ahead is how many waiters were to be
// served before this one, the holder not among them, or -1 if that is not known.
type QueuedInfo struct {
	Name  string
	Ahead int
}

// A Wake is why a wait is over.
type Wake string

const (
	WakeGrant   Wake = "grant"   // a message says that this waiter has the lock
	WakeMessage Wake = "message" // a message says that the lock may be free
	WakeTime    Wake = "time"    // it is time to ask: a pause or the holder's lease is over
	WakeDoubt   Wake = "doubt"   // messages may have been lost
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

// RenewedInfo is a lease that now lasts until that time.
type RenewedInfo struct {
	Name  string
	Token uint64
	Until time.Time
}

// RenewalFailedInfo is a renewal that has failed, with so much of the lease left.
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

// WithTrace returns a context for Lock, TryLock, ForceUnlock and Do. The functions
// of a Trace that is in ctx already are called too, after those of t. What a lease
// does goes to the Trace of its Lock, whatever the context of Unlock is.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	ctx = given(ctx)
	if old := traceOf(ctx); old != nil {
		t = t.and(old)
	}
	return context.WithValue(ctx, traceKey{}, t)
}

// and returns a Trace whose functions call those of t and old.
func (t *Trace) and(old *Trace) *Trace {
	return &Trace{
		both(t.Sent, old.Sent), both(t.Answered, old.Answered), both(t.Queued, old.Queued), both(t.Woken, old.Woken),
		both(t.Granted, old.Granted), both(t.Failed, old.Failed),
		both(t.Renewed, old.Renewed), both(t.RenewalFailed, old.RenewalFailed),
		both(t.Released, old.Released), both(t.Lost, old.Lost),
	}
}

// requests returns the Trace of c, but only what it is told of requests, or nil.
func (c *Client) requests() *Trace {
	if c.trace == nil {
		return nil
	}
	return &Trace{Sent: c.trace.Sent, Answered: c.trace.Answered}
}

// traceAs lets t know what becomes of l.
func (l *Lease) traceAs(t *Trace) {
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.trace, l.since = t, time.Now()
}

// traced returns ctx, or context.Background() if it is nil, with the Trace of c besides
// that of ctx.
func (c *Client) traced(ctx context.Context) context.Context {
	ctx = given(ctx)
	switch t := traceOf(ctx); {
	case c.trace == nil:
		return ctx
	case t == nil:
		return context.WithValue(ctx, traceKey{}, c.trace)
	default:
		return context.WithValue(ctx, traceKey{}, t.and(c.trace))
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

// queued and woken are for a Lock that has t, which may be nil. queued returns true.
func (t *Trace) queued(name string, ahead int) bool {
	if t != nil {
		tell(t.Queued, QueuedInfo{name, ahead})
	}
	return true
}

func (t *Trace) woken(name string, why Wake) {
	if t != nil && why != "" {
		tell(t.Woken, WokenInfo{name, why})
	}
}

// outcome tells t what Lock returns, and has the lease tell what becomes of it.
func (t *Trace) outcome(name string, began time.Time, l *Lease, err error) {
	now := time.Now()
	if err != nil {
		tell(t.Failed, FailedInfo{name, now.Sub(began), err})
		return
	}
	tell(t.Granted, GrantedInfo{name, l.token, now.Sub(began)})
	l.c.mu.Lock()
	l.trace, l.since = t, now
	l.c.mu.Unlock()
	if t.Lost == nil {
		return
	}
	context.AfterFunc(l.alive, func() {
		if err := context.Cause(l.alive); err != ErrReleased {
			t.Lost(LostInfo{l.name, l.token, err})
		}
	})
}

// renewalFailed tells the trace of l, or of what l is a part of, if there is one.
func (l *Lease) renewalFailed(err error) {
	if j := l.whole.Load(); j != nil {
		l = j.all
	}
	l.c.mu.Lock()
	t := l.trace
	l.c.mu.Unlock()
	if t != nil {
		tell(t.RenewalFailed, RenewalFailedInfo{l.name, explain(err), max(0, l.c.clock.Until(l.until()))})
	}
}

// released tells the trace of l, if there is one, that Unlock has succeeded.
func (l *Lease) released() {
	if l.trace != nil {
		tell(l.trace.Released, ReleasedInfo{l.name, l.token, time.Since(l.since)})
	}
}

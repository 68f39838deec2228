package lock

import (
	"context"
	"errors"
	"time"
)

// A Trace is functions that are called at the steps of a Lock and its lease, if [WithTrace]
// has put them into its context, or ClientOptions.Trace has them. Functions that are nil are
// not called. A Lock without a Trace pays one lookup in its context.
//
// The functions may be called from any goroutine, several at once, and after Lock has
// returned. They must not block: the lock waits for them.
type Trace struct {
	// Sent is called before a request is sent, and Answered when its answer has come, or
	// none. Requests that renew a lease are not included. Package zklock calls neither.
	Sent     func(SentInfo)
	Answered func(AnsweredInfo)

	// Queued is called when another holder has the lock, so that Lock waits.
	Queued func(QueuedInfo)

	// Woken is called when a wait is over: Lock has the lock, or looks again.
	Woken func(WokenInfo)

	// Granted is called before Lock returns a lease, and Failed before it returns an error.
	Granted func(GrantedInfo)
	Failed  func(FailedInfo)

	// Renewed is called when a lease lasts longer than before, and RenewalFailed when a
	// renewal was refused or not answered in time. It is tried again while there is time.
	Renewed       func(RenewedInfo)
	RenewalFailed func(RenewalFailedInfo)

	// Released is called when Unlock has given the lock back, Lost if the lease ends otherwise.
	Released func(ReleasedInfo)
	Lost     func(LostInfo)
}

// SentInfo is a request about the lock Name. Op is "acquire", "release" or "force".
type SentInfo struct{ Name, Op string }

// AnsweredInfo is the result of a request, Took after it was sent.
type AnsweredInfo struct {
	Name, Op string
	Took     time.Duration
	Err      error // nil if the server has answered with anything but an error
}

// QueuedInfo is the beginning of a wait, behind Ahead other waiters, -1 if unknown.
type QueuedInfo struct {
	Name  string // the name or path of the lock, here and below
	Ahead int
}

// A Wake is the reason why a wait is over.
type Wake string

const (
	WakeGrant   Wake = "grant"   // an event or message: this waiter has the lock
	WakeMessage Wake = "message" // an event or message: the lock may be free
	WakeTime    Wake = "time"    // it is time to look again
	WakeDoubt   Wake = "doubt"   // events or messages may have been lost, or the waiter's place was deleted
)

// WokenInfo is the end of a wait.
type WokenInfo struct {
	Name string
	Why  Wake
}

// GrantedInfo is a Lock that has succeeded after Wait. Token is the lease's.
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

// Outcome returns the reason for metrics: "canceled", "timeout", "not_acquired" or "error".
func (i FailedInfo) Outcome() string {
	switch {
	case errors.Is(i.Err, context.Canceled):
		return "canceled"
	case errors.Is(i.Err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(i.Err, ErrNotAcquired):
		return "not_acquired"
	}
	return "error"
}

// RenewedInfo is a lease that now lasts until that time.
type RenewedInfo struct {
	Name  string
	Token uint64
	Until time.Time
}

// RenewalFailedInfo is a renewal that has failed. Left is the rest of the lease.
type RenewalFailedInfo struct {
	Name string
	Err  error
	Left time.Duration
}

// ReleasedInfo is an Unlock of a lease. Held is the time from the return of Lock until the
// release was confirmed, with its request: until then the others have to wait.
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

// WithTrace returns a context for Lock, TryLock and Do. A Trace that is in ctx already is
// called too, after t. A lease has the Trace of its Lock. A ctx that is nil does not end.
func WithTrace(ctx context.Context, t *Trace) context.Context {
	ctx = Given(ctx)
	return OnlyTrace(ctx, t.And(TraceOf(ctx)))
}

// OnlyTrace returns ctx with t, which may be nil, instead of the Trace that is in ctx.
func OnlyTrace(ctx context.Context, t *Trace) context.Context {
	return context.WithValue(ctx, traceKey{}, t)
}

// TraceOf returns the Trace in ctx, or nil.
func TraceOf(ctx context.Context) *Trace {
	t, _ := ctx.Value(traceKey{}).(*Trace)
	return t
}

// And returns a Trace that calls t, then next. If one is nil it returns the other.
func (t *Trace) And(next *Trace) *Trace {
	if t == nil {
		return next
	}
	if next == nil {
		return t
	}
	return &Trace{
		both(t.Sent, next.Sent), both(t.Answered, next.Answered),
		both(t.Queued, next.Queued), both(t.Woken, next.Woken),
		both(t.Granted, next.Granted), both(t.Failed, next.Failed),
		both(t.Renewed, next.Renewed), both(t.RenewalFailed, next.RenewalFailed),
		both(t.Released, next.Released), both(t.Lost, next.Lost),
	}
}

func both[E any](f, g func(E)) func(E) {
	return func(e E) {
		Notify(f, e)
		Notify(g, e)
	}
}

// Notify calls f, if it is not nil.
func Notify[E any](f func(E), e E) {
	if f != nil {
		f(e)
	}
}

// NotifyQueued reports the beginning of a wait to t, which may be nil.
func (t *Trace) NotifyQueued(name string, ahead int) {
	if t != nil {
		Notify(t.Queued, QueuedInfo{name, ahead})
	}
}

// NotifyWoken reports the end of a wait to t, which may be nil, unless why is "".
func (t *Trace) NotifyWoken(name string, why Wake) {
	if t != nil && why != "" {
		Notify(t.Woken, WokenInfo{name, why})
	}
}

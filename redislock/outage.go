package redislock

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"
)

// An outage is what a Lock knows of requests that have failed in a row.
type outage struct {
	failures int
	began    time.Time // when the first has failed
	last     error
}

const (
	// retryPause is about how long to wait before a request that failed is sent again.
	// Each time it is twice as long, up to retryMost.
	retryPause = 10 * time.Millisecond
	retryMost  = 250 * time.Millisecond

	// maxFailures is how many requests of a TryLock may fail.
	maxFailures = 3
)

// pause notes a failure and returns when to send the request again. The pauses of many
// clients that lose one server differ.
func (f *outage) pause(err error) time.Duration {
	if f.failures == 0 {
		f.began = time.Now()
	}
	f.last = err
	d := min(retryPause<<min(f.failures, 8), retryMost)
	f.failures++
	return d/2 + rand.N(d)
}

// over is for an answer.
func (f *outage) over() { *f = outage{} }

// ended returns those errors, or if there are none why a Lock whose context has ended
// gives up: how its last request failed, if it did.
func (f *outage) ended(ctx context.Context, errs ...error) error {
	if err := errors.Join(errs...); err != nil || ctx.Err() == nil {
		return err
	}
	return cmp.Or(f.last, ctx.Err())
}

// hopeless reports whether a Lock of c with those options gives up after the failure that
// was noted last.
func (f *outage) hopeless(ctx context.Context, c *Client, o Options, try bool) bool {
	return c.final(f.last) || f.lasts(ctx, o, try)
}

// lasts reports whether that Lock has asked for long enough.
func (f *outage) lasts(ctx context.Context, o Options, try bool) bool {
	if ctx.Err() != nil {
		return true
	}
	if try {
		return f.failures >= maxFailures
	}
	_, bounded := ctx.Deadline()
	return !bounded && time.Since(f.began) >= o.Outage
}

// persist calls f, which sends one request, until the server answers or ctx ends, with
// pauses between. unsure is whether an earlier request may have taken effect.
func (c *Client) persist(ctx context.Context, f func(ctx context.Context, unsure bool) error) error {
	var o outage
	for unsure := resent(ctx) != nil; ; {
		err := f(ctx, unsure)
		if err == nil || c.final(err) {
			return err
		}
		unsure = unsure || !refused(err)
		if v := judge(err); v == elsewhere || v == redirect {
			ctx = by(ctx, nil) // the connection that is new leads to a server that has not got the lock
		}
		if !c.pause(ctx, o.pause(err)) {
			return err
		}
	}
}

const (
	// maxLater is how many requests a client keeps to send them when the server
	// answers again.
	maxLater = 1024

	// laterPause is how long it waits before each try, of which each lasts up to
	// unlockWait.
	laterPause = 100 * time.Millisecond
	laterMost  = time.Second // it grows up to this
)

// later calls f, which gives back the lock called name or a place in its queue, in the
// background until that succeeds, until is past or c closes; and at once after wake, which may
// be nil. done, if not nil, is called at the end. Beyond maxLater nothing is kept.
func (c *Client) later(name string, until time.Time, wake <-chan struct{}, f func(context.Context) error, done func()) {
	if done == nil {
		done = func() {}
	}
	d := c.owe(name)
	if c.closedErr() == nil && c.debts() > maxLater || !c.task(func() {
		defer done()
		pause := laterPause
		for now := c.clock.Now(); now.Before(until) && c.restOr(wake, pause/2+rand.N(pause)); now = c.clock.Now() {
			ctx, cancel := context.WithTimeout(c.open, min(unlockWait, until.Sub(now)))
			err := f(ctx)
			cancel()
			c.pay(d, err)
			if err == nil || c.final(err) && (c.closedErr() != nil || !refused(err)) {
				break
			}
			pause = min(2*pause, laterMost)
		}
		if c.closedErr() == nil || !c.clock.Now().Before(until) {
			c.pay(d, nil) // it is over by itself
		}
	}) {
		if c.closedErr() == nil {
			c.pay(d, nil)
		}
		done()
	}
}

// restOr waits for d, or until woken, and reports whether c is still open.
func (c *Client) restOr(wake <-chan struct{}, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-wake:
	case <-c.open.Done():
	}
	return c.open.Err() == nil
}

const (
	// undoWait is for how long a Lock that failed waits until what it may have left
	// behind is taken back, and undoWaitEnded so if its context has ended: then its
	// caller does not wait for longer.
	undoWait      = 250 * time.Millisecond
	undoWaitEnded = 80 * time.Millisecond
)

var errUndoing = errors.New("the server has not answered")

// aside returns f as the undo of gaveUp: it runs for up to unlockWait, but the Lock that
// gives up waits for less, and not at all if its context has ended in an outage.
func (c *Client) aside(failed *outage, f func(context.Context) error) func(context.Context) error {
	return func(ctx context.Context) error {
		done := make(chan error, 1)
		if !c.task(func() {
			detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
			defer cancel()
			done <- f(detached)
		}) {
			return ErrClosed
		}
		patience := undoWait
		switch {
		case ctx.Err() != nil && failed.failures > 0:
			return errUndoing
		case ctx.Err() != nil:
			patience = undoWaitEnded
		}
		timer := time.NewTimer(patience)
		defer timer.Stop()
		select {
		case err := <-done:
			return err
		case <-timer.C:
			return errUndoing
		}
	}
}

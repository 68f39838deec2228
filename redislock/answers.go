package redislock

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"locklab/internal/wire"
	"locklab/lock"
)

type verdict int

const (
	unlisted  verdict = iota // not in the table: a Lock gives up, a lease is renewed until its deadline
	foreign                  // the key is in use for something else: a Lock gives up, a lease is lost
	retry                    // temporary: send it again
	elsewhere                // retry, with the server that the client library finds by then
	redirect                 // elsewhere if the client library follows redirects, else final
	password                 // retry if the server has accepted the password before: it is being changed; else final
	final                    // permanent: a Lock gives up, a lease is lost
)

type refusal struct {
	prefix  string
	verdict verdict
	advice  string
}

const (
	rights      = "the rights that a user needs stand in the package comment of redislock"
	credentials = "set Username and Password in the options of the client library"
	memory      = "give the server more memory: locks need its policy noeviction"
	primary     = "connect to the primary, by redis.NewFailoverClient if Sentinel monitors it"
	otherName   = "the name is in use, by a lock of another kind or something else"
)

// refusals are the errors of Redis and Valkey, for every request of this package, in addition to
// [wire.TemporaryErrors]. EXECABORT, BUSYKEY, BUSYGROUP, NOGROUP, NOQUORUM, NOTBUSY, UNKILLABLE
// and INVALIDOBJ are absent, because no request gets them, and a plain ERR, because it is unlisted.
var refusals = []refusal{
	{"OOM", retry, memory},               // until keys expire
	{"READONLY", elsewhere, primary},     // a replica
	{"MOVED", redirect, ""},              // another node has the slot
	{"ASK ", redirect, ""},               // another node has the keys of a slot that moves
	{"REDIRECT", redirect, ""},           // another server is the primary (Valkey)
	{"WRONGPASS", password, credentials}, // unlisted user, or wrong password
	{"NOAUTH", password, credentials},    // no password was sent
	{"AUTH ", password, credentials},     // a password was sent, and the server has none
	{"WRONGTYPE", foreign, otherName},    // the key has another type
	{"NOPERM", final, rights},            // the user lacks a right
	{"DENIED", final, ""},                // protected mode
	{"NOPROTO", final, ""},               // another version of the protocol
	{"CROSSSLOT", final, ""},             // keys of several slots in one request
}

func refusalOf(err error) refusal {
	for _, a := range refusals {
		if redis.HasErrorPrefix(err, a.prefix) || a.advice == rights && forbidden(err) {
			return a
		}
	}
	if slices.ContainsFunc(wire.TemporaryErrors, func(prefix string) bool { return redis.HasErrorPrefix(err, prefix) }) {
		return refusal{verdict: retry}
	}
	return refusal{}
}

// verdictOf returns the verdict on err. Only a request that cannot be sent is not sent again.
func verdictOf(err error) verdict {
	if refused(err) {
		return refusalOf(err).verdict
	}
	var untrusted *tls.CertificateVerificationError
	if errors.Is(err, redis.ErrClosed) || errors.Is(err, errNoBlocking) || errors.As(err, &untrusted) {
		return unlisted
	}
	return retry
}

// final reports whether it is pointless to repeat a request that failed with err.
func (c *Client) final(err error) bool { return c.settled(err) || verdictOf(err) <= foreign }

// settled is final for renewals and the like: an answer outside the table may be temporary.
func (c *Client) settled(err error) bool {
	switch verdictOf(err) {
	case final:
		return true
	case password:
		return !c.admitted.Load()
	case redirect:
		_, single := c.rdb.(*redis.Client)
		return single
	}
	return false
}

// deaf is settled for connections that listen, which may have another password.
func (c *Client) deaf(err error) bool {
	if verdictOf(err) == password && c.separate {
		return !c.heard.Load()
	}
	return c.settled(err)
}

// refused reports whether err is an answer of the server, which has changed nothing.
func refused(err error) bool {
	var answer redis.Error
	return errors.As(err, &answer)
}

// splitSlot reports whether err is about several keys of a migrating slot, on two nodes.
func splitSlot(err error) bool {
	return redis.HasErrorPrefix(err, "TRYAGAIN") || redis.HasErrorPrefix(err, "ASK ")
}

func forbidden(err error) bool {
	if err == nil || !refused(err) {
		return false
	}
	// Servers before 7.2 do not name the forbidden command of a script.
	text := err.Error()
	return redis.HasErrorPrefix(err, "NOPERM") || strings.Contains(text, "user executing the script") || strings.Contains(text, "ACL failure in script")
}

func explain(err error) error {
	advice := refusalOf(err).advice
	if advice == "" || strings.Contains(err.Error(), advice) {
		return err
	}
	return fmt.Errorf("%w (%s)", err, advice)
}

type outage struct {
	failures int
	began    time.Time // time of the first failure
	last     error
}

const (
	// retryPause is the mean pause after the first failure. It doubles up to retryMost.
	retryPause = 10 * time.Millisecond
	retryMost  = 250 * time.Millisecond

	maxFailures = 3
)

// pause is random, so that clients do not ask in step.
func (f *outage) pause(err error) time.Duration {
	if f.failures == 0 {
		f.began = time.Now()
	}
	f.last = err
	d := min(retryPause<<min(f.failures, 8), retryMost)
	f.failures++
	return d/2 + rand.N(d)
}

func (f *outage) over() { *f = outage{} }

func (f *outage) ended(ctx context.Context, errs ...error) error {
	if err := errors.Join(errs...); err != nil || ctx.Err() == nil {
		return err
	}
	return cmp.Or(f.last, ctx.Err())
}

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

// persist calls f until the server answers or ctx ends. unsure: an earlier request may count.
func (c *Client) persist(ctx context.Context, f func(ctx context.Context, unsure bool) error) error {
	var o outage
	for unsure := resent(ctx) != nil; ; {
		err := f(ctx, unsure)
		if err == nil || c.final(err) {
			return err
		}
		unsure = unsure || !refused(err)
		if v := verdictOf(err); v == elsewhere || v == redirect {
			ctx = by(ctx, nil) // the new connection leads to a server without the lock
		}
		if !c.pause(ctx, o.pause(err)) {
			return err
		}
	}
}

const (
	// maxLater bounds the requests that a client keeps for a silent server.
	maxLater = 1024

	// laterPause is the pause before the first such try. Each try lasts up to unlockWait.
	laterPause = 100 * time.Millisecond
	laterMost  = time.Second // the pause grows up to this
)

// later calls f, which failed with err, in the background until it succeeds, until is past or c
// closes. Beyond maxLater, f is dropped.
func (c *Client) later(name string, until time.Time, err error, f func(context.Context) (held bool, err error)) {
	d, all := c.owe(name, err)
	if c.closedErr() == nil && all > maxLater || !c.task(func() {
		pause := laterPause
		for c.clock.Now().Before(until) && c.pause(c.open, pause/2+rand.N(pause)) {
			ctx, cancel := context.WithTimeout(c.open, min(unlockWait, c.clock.Until(until)))
			_, err := f(ctx)
			cancel()
			c.pay(d, err)
			if err == nil || c.final(err) && (c.closedErr() != nil || !refused(err)) {
				break
			}
			pause = min(2*pause, laterMost)
		}
		if c.closedErr() == nil || !c.clock.Now().Before(until) {
			c.pay(d, nil) // it has expired
		}
	}) {
		if c.closedErr() == nil {
			c.pay(d, nil)
		}
	}
}

const (
	// undoWait is how long a failed Lock waits until its effects are undone. If its context
	// has ended, undoWaitEnded bounds the caller's wait.
	undoWait      = 250 * time.Millisecond
	undoWaitEnded = 80 * time.Millisecond
)

var errUndoing = errors.New("the server has not answered")

// attempts are the requests of one Lock or TryLock, and how to undo them.
type attempts struct {
	*base
	outage
	try   bool
	doubt bool                                         // a request may have had an effect
	undo  func(context.Context) (held bool, err error) // nil if ask does it
	final func(error) bool                             // reports whether to give up; nil is Client.final
}

// run asks until it has the lock, ctx ends or the server fails. It waits while the lock is taken.
// Only a lease leaves anything.
func (a *attempts) run(ctx context.Context, ask func() (*Lease, time.Duration, error), wait waitFunc) (*Lease, error) {
	trace, queued := lock.TraceOf(ctx), false
	for n := 1; ; n++ {
		l, left, err := ask()
		var end error // the reason not to ask again
		switch {
		case l != nil:
			return l, nil
		case err == nil && a.try:
			return nil, ErrNotAcquired
		case err == nil:
			a.doubt = false
			a.over()
			if !queued {
				trace.NotifyQueued(a.name, -1)
			}
			queued = true
			var why lock.Wake
			if why, end = wait(ctx, n, left); end == nil {
				trace.NotifyWoken(a.name, why)
			}
		default:
			pause, over := a.failed(ctx, err)
			if over {
				return a.giveUp(ctx, err)
			}
			if end = a.c.rest(ctx, pause); end != nil && a.c.closedErr() == nil {
				end = err
			}
		}
		if end != nil {
			return a.giveUp(ctx, end)
		}
	}
}

func (a *attempts) failed(ctx context.Context, err error) (pause time.Duration, over bool) {
	a.doubt = a.doubt || !refused(err)
	pause = a.pause(err)
	final := a.final
	if final == nil {
		final = a.c.final
	}
	return pause, final(err) || a.lasts(ctx, a.o, a.try)
}

// giveUp returns the error of a Lock that fails for err, after it has undone unsure requests.
func (a *attempts) giveUp(ctx context.Context, err error) (*Lease, error) {
	err = gaveUp(ctx, a.name, err)
	if !a.doubt || a.undo == nil {
		return nil, err
	}
	if left := a.revert(ctx); left != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w (and what it left there may stay for %v, or until the server answers)", err, a.o.TTL)
	}
	return nil, err
}

// insist calls f, and after a failure in the background for as long as the server keeps its effect.
func (b *base) insist(ctx context.Context, keeps time.Duration, f func(context.Context) (held bool, err error)) (held bool, err error) {
	held, err = f(ctx)
	if err != nil {
		b.c.later(b.name, b.c.clock.Now().Add(keeps), err, f)
	}
	return held, err
}

// revert runs undo for up to unlockWait, which the Lock does not await.
func (a *attempts) revert(ctx context.Context) error {
	done, undo := make(chan error, 1), a.undo
	if !a.c.task(func() {
		detached, cancel := context.WithTimeout(context.WithoutCancel(ctx), unlockWait)
		defer cancel()
		_, err := undo(detached)
		done <- err
	}) {
		a.c.owe(a.name, ErrClosed)
		return ErrClosed
	}
	patience := undoWait
	switch {
	case ctx.Err() != nil && a.failures > 0:
		return errUndoing
	case ctx.Err() != nil:
		patience = undoWaitEnded
	}
	select {
	case err := <-done:
		return err
	case <-time.After(patience):
		return errUndoing
	}
}

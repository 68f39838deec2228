package redislock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"time"

	"locklab/internal/lease"
)

// Defaults of Options.
const (
	// DefaultTTL bounds how long a crashed holder blocks the others.
	DefaultTTL = 30 * time.Second

	// DefaultHandoffTimeout is longer than a garbage collection and a lost packet, and
	// short enough that a waiter that died unnoticed costs little.
	DefaultHandoffTimeout = 500 * time.Millisecond

	// DefaultOutage is longer than a failover by Sentinel takes by its defaults, and
	// than most servers take to restart.
	DefaultOutage = time.Minute

	// DefaultMargin is twice as long as a goroutine may keep a CPU to itself before
	// the runtime takes it away, for the one that is told that its lease is over.
	DefaultMargin = 20 * time.Millisecond

	// minLease is the shortest lease and grant timeout. Redis counts whole
	// milliseconds, of which drift leaves out two.
	minLease = 5 * time.Millisecond

	// maxLease is more than any caller will ask for.
	maxLease = 100 * 365 * 24 * time.Hour

	// maxName is the longest name of a lock, in bytes.
	maxName = 1024
)

// Options is how a lock behaves. The zero value is usable.
type Options struct {
	// TTL is the length of a lease: how long the servers keep the lock for a holder
	// that they do not hear from. It is sent in whole milliseconds. 0 is DefaultTTL.
	TTL time.Duration

	// DisableRenewal says that a lease is not renewed: the holder has TTL and no more.
	// Otherwise it is renewed for as long as the process lives, from when a
	// third of it is over, and at once if the lock was handed over.
	DisableRenewal bool

	// HandoffTimeout is how long a waiter to which the lock was handed over may take to
	// react, if it is about to keep it: what a waiter that died costs the
	// others. It should be well above the longest delay on the way to the server: a
	// process that reacts later loses the lock again, and asks more often from then on.
	// All clients of a lock should agree. 0 is DefaultHandoffTimeout. Only locks with a
	// queue use it.
	HandoffTimeout time.Duration

	// Wait is how long Lock waits at most, whatever its context allows. Then it
	// returns an error that wraps ErrNotAcquired and context.DeadlineExceeded, a
	// tenth of a second later if the server does not answer. 0 is no bound.
	// TryLock does not wait.
	Wait time.Duration

	// Outage is for how long a Lock whose context has no deadline, and which has no
	// Wait, goes on asking while every request fails: the server cannot be reached, is
	// loading its data, is busy with a script, is not the primary, as in a failover, or
	// refuses a password that it has accepted before.
	// A Lock with a deadline goes on until then, and TryLock asks three times; a
	// Cohort, which asks for all of its waiters, keeps to Outage. A place in the queue
	// is kept meanwhile. 0 is DefaultOutage.
	Outage time.Duration

	// Margin is how long before the servers can give the lock to another the holder is
	// told that its lease is over, if it could not renew it: Done is closed then, and
	// Deadline says when. It is left over when one per cent of the lease and two
	// milliseconds have been taken off for the difference between clocks. What the
	// holder does under the lock should stop within the margin. 0 is DefaultMargin,
	// but at most a tenth of the lease; of a lease that was handed over, and is as long
	// as HandoffTimeout until its first renewal, it is at most a tenth as well.
	Margin time.Duration

	// MaxHold is how long a lease lasts at most, however well it is renewed, from when Lock
	// returns it: it bounds for how long a holder that lives, but is stuck, keeps the lock
	// from the others. Then the lease is lost, as if it could not be renewed: Done is
	// closed, Err wraps ErrLost and says MaxHold, and the lock is given back in the server
	// at once. 0 is no bound. With re-entries, and in a
	// row of a Cohort, each lease has its own.
	MaxHold time.Duration

	_ struct{}
}

// withDefaults returns o without zeros, or what is wrong with it or with name.
func (o Options) withDefaults(name string) (Options, error) {
	if o.TTL == 0 {
		o.TTL = DefaultTTL
	}
	if o.HandoffTimeout == 0 {
		o.HandoffTimeout = DefaultHandoffTimeout
	}
	o.HandoffTimeout = min(o.HandoffTimeout, o.TTL)
	o.Outage = cmp.Or(o.Outage, DefaultOutage)
	if o.Margin == 0 {
		o.Margin = min(DefaultMargin, max(o.TTL/10, 0))
	}
	switch {
	case name == "":
		return o, fmt.Errorf("%w: the lock has no name", ErrUsage)
	case len(name) > maxName:
		return o, fmt.Errorf("%w: the name of the lock has %d bytes, more than %d", ErrUsage, len(name), maxName)
	case companionName.MatchString(name):
		return o, fmt.Errorf("%w: the lock is called %.80q: what ends with %s is the name of a key that belongs to another lock", ErrUsage, name, companionName.FindString(name))
	case o.TTL < minLease:
		return o, fmt.Errorf("%w: a lease of %v: want at least %v", ErrUsage, o.TTL, minLease)
	case o.TTL > maxLease:
		return o, fmt.Errorf("%w: a lease of %v: want at most %v", ErrUsage, o.TTL, maxLease)
	case o.HandoffTimeout < minLease:
		return o, fmt.Errorf("%w: a grant timeout of %v: want at least %v", ErrUsage, o.HandoffTimeout, minLease)
	case o.Margin < 0 || o.Margin >= o.TTL-drift(o.TTL):
		return o, fmt.Errorf("%w: a margin of %v: want more than 0, and less than the lease of %v but for what clocks may differ by, %v",
			ErrUsage, o.Margin, o.TTL, drift(o.TTL))
	case o.Outage < 0:
		return o, fmt.Errorf("%w: an outage of %v: want more than 0, or 0 for %v", ErrUsage, o.Outage, DefaultOutage)
	case o.MaxHold < 0:
		return o, fmt.Errorf("%w: a MaxHold of %v: want more than 0, or 0 for no bound", ErrUsage, o.MaxHold)
	case o.Wait < 0:
		return o, fmt.Errorf("%w: a wait of %v: want more than 0, or 0 for no bound", ErrUsage, o.Wait)
	}
	return o, nil
}

// bound returns how long a Lock waits at most, 0 for as long as its context says.
func (o Options) bound(try bool) time.Duration {
	if try {
		return 0
	}
	return o.Wait
}

// again is how long a waiter waits at most before it asks again, whatever it has
// heard: two leases, but at most a minute.
func (o Options) again() time.Duration { return min(2*o.TTL, time.Minute) }

// companion returns the name of a key, or a channel, that belongs to the lock called
// name, and that a cluster keeps in the same slot: with ~ before what, behind the name
// in braces, or behind the name and a colon if it has braces itself. So it is that of
// no other lock, and of no lock the key: a name that looks like it is refused. A cluster
// keeps it elsewhere if the name has a closing brace, or an empty pair, but nothing in
// braces.
func companion(name, what string) string {
	if hashTag(name) != name {
		return name + ":" + companionMark + what
	}
	return "{" + name + "}" + companionMark + what
}

const companionMark = "~"

// companionName matches what companion returns, and the names of mailboxes, which add
// to it what has no colon: an identity.
var companionName = regexp.MustCompile(companionMark + `(queue|token|tokens|released|mail:[^:~]*)$`)

// hashTag returns what says in which slot of a cluster a key is kept: what it has
// between its first brace and the next closing one, or else all of it.
func hashTag(key string) string {
	_, tail, opened := strings.Cut(key, "{")
	if tag, _, closed := strings.Cut(tail, "}"); opened && closed && tag != "" {
		return tag
	}
	return key
}

// Lockable is what every lock of this package is, and an [Owner] of a [Reentrant].
type Lockable interface {
	Lock(ctx context.Context) (*Lease, error)
}

// Do calls f while it holds the lock. The context of f ends with ctx, and when
// the lock is lost; its cause is then an error that wraps ErrLost. Do returns
// what went wrong, in f and in releasing the lock: an error that wraps
// ErrNotHeld says that f ran, at least at its end, without the lock.
func Do(ctx context.Context, m Lockable, f func(ctx context.Context, l *Lease) error) error {
	return lease.Do(ctx, m.Lock, f)
}

// Elect calls lead while it holds the lock, as the leader of all that do so with the same
// lock. The context of lead ends when the lock is lost; when lead has returned after that,
// whatever it returns, Elect waits for the lock again. Otherwise it gives the lock back and
// returns what lead has returned. When ctx ends it returns an error that wraps that of
// ctx, and when Lock fails that of Lock: with [Options].Wait, when it has waited that long.
func Elect(ctx context.Context, m Lockable, lead func(ctx context.Context, l *Lease) error) error {
	return lease.Elect(ctx, m.Lock, ErrLost, lead)
}

// Locker returns m in the shape of a sync.Locker. Its methods panic where Lock
// and Unlock return an error: if the server fails, and if the lock turns out to
// have been lost. Code that can do better uses Lock or Do.
func Locker(m Lockable) sync.Locker { return lease.Locker(m.Lock, ErrNotHeld) }

// await runs acquire in a goroutine of c and waits for it until ctx ends, or for
// wait, if that is not 0.
func (c *Client) await(ctx context.Context, name string, wait time.Duration, acquire func(context.Context) (*Lease, error)) (*Lease, error) {
	return c.awaitIn(c.traced(ctx), name, wait, acquire)
}

// awaitIn is await with a context that has all that is to be told.
func (c *Client) awaitIn(ctx context.Context, name string, wait time.Duration, acquire func(context.Context) (*Lease, error)) (l *Lease, err error) {
	ctx, stop := bounded(ctx, wait)
	defer stop()
	if t := traceOf(ctx); t != nil {
		defer func(began time.Time) { t.outcome(name, began, l, err) }(time.Now())
	}
	abandon := func(l *Lease) { _ = l.release(ctx, l.finish(ErrReleased)) }
	for {
		l, err = lease.Await(ctx, c.admit, ErrClosed, func() (*Lease, error) { return acquire(ctx) }, abandon)
		if err != nil || l.Err() == nil {
			break
		}
		abandon(l) // the process was stopped for longer than the lease
	}
	switch {
	case err == nil:
	case err == ErrNotAcquired: // of a TryLock
		err = busy(name)
	case err == ctx.Err(): // acquire says more
		err = ended(ctx, name)
	}
	return l, err
}

// busy returns the error of a TryLock that could not have the lock.
func busy(name string) error {
	return fmt.Errorf("%w: %s: another client has it or waits for it", ErrNotAcquired, name)
}

// bounded returns ctx with an end after wait, if that is not 0.
func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, wait, fmt.Errorf("the wait of %v is over: %w", wait, context.DeadlineExceeded))
}

// ended returns the error of a Lock whose context has ended.
func ended(ctx context.Context, name string) error {
	err := context.Cause(ctx)
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, name, err)
}

// gaveUp returns the error of a Lock that failed with err: that of ctx if it has
// ended. undo takes back what a request may have done of which we do not know,
// if there is any.
func gaveUp(ctx context.Context, name string, o Options, err error, undo func(context.Context) error) error {
	if until, ok := ctx.Deadline(); ok && !time.Now().Before(until) {
		<-ctx.Done() // the client library may have looked at its watch before
	}
	if ctx.Err() != nil {
		err = endedWith(ctx, name, err)
	}
	if !errors.Is(err, ErrNotAcquired) {
		err = fmt.Errorf("redislock: lock %s: %w", name, explain(err))
	}
	if undo == nil {
		return err
	}
	if again := undo(ctx); again != nil && ctx.Err() == nil {
		err = fmt.Errorf("%w (and what it left there may stay for %v, or until the server answers)", err, o.TTL)
	}
	return err
}

// endedWith returns the error of a Lock whose context has ended, and how its last
// request failed, if that says more.
func endedWith(ctx context.Context, name string, err error) error {
	end := ended(ctx, name)
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) || errors.Is(err, ErrClosed) {
		return end
	}
	return fmt.Errorf("%w: %w", end, explain(err))
}

// rest waits for d. The error is that of ctx or of the client if one has ended before.
func (c *Client) rest(ctx context.Context, d time.Duration) error {
	if sleep(ctx, c.serving, d) {
		return nil
	}
	return c.ended(ctx)
}

// ended returns the error of ctx and of the client, nil if neither has ended.
func (c *Client) ended(ctx context.Context) error { return errors.Join(ctx.Err(), c.closedErr()) }

// pause waits for d and reports whether neither ctx nor the client has ended
// before.
func (c *Client) pause(ctx context.Context, d time.Duration) bool { return sleep(ctx, c.open, d) }

// sleep waits for d and reports whether neither context has ended before.
func sleep(ctx, other context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
	case <-other.Done():
	}
	return false
}

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

	"locklab/lock"
)

// Defaults of Options.
const (
	// DefaultTTL bounds how long a crashed holder blocks the others.
	DefaultTTL = 30 * time.Second

	// DefaultHandoffTimeout outlasts a garbage collection and a lost packet.
	DefaultHandoffTimeout = 500 * time.Millisecond

	// DefaultOutage outlasts a default Sentinel failover and most server restarts.
	DefaultOutage = time.Minute

	// DefaultMargin is twice the time for which a goroutine may occupy a CPU before the
	// runtime preempts it: the goroutine of the holder may wait that long.
	DefaultMargin = 20 * time.Millisecond

	// minLease is the shortest lease and grant: Redis counts milliseconds, drift takes two.
	minLease = 5 * time.Millisecond

	// maxLease is longer than any real lease.
	maxLease = 100 * 365 * 24 * time.Hour

	// maxName is the longest name of a lock, in bytes.
	maxName = 1024
)

// Options configures a lock. The zero value is usable.
type Options struct {
	// TTL is the length of a lease without renewals, in whole milliseconds. 0 is DefaultTTL.
	TTL time.Duration

	// DisableRenewal turns renewal off: the holder has TTL and no more. Else a lease is
	// renewed from a third of its length on, and at once after a handover.
	DisableRenewal bool

	// HandoffTimeout is how long a waiter may take to react to a handover, and the cost of a
	// dead waiter to the others. It should be well above the longest delay to the server: a
	// process that reacts later loses the lock again, and polls from then on. All clients of a
	// lock should agree. 0 is DefaultHandoffTimeout. Only locks with a queue use it.
	HandoffTimeout time.Duration

	// Wait bounds Lock, but not TryLock. The error then wraps ErrNotAcquired and
	// context.DeadlineExceeded, 0.1 s later if the server does not answer. 0 is no bound.
	Wait time.Duration

	// Outage is how long a Lock without a deadline or Wait repeats a request while every one
	// fails: the server is unreachable, loads its data, is busy with a script, is not the
	// primary, or refuses a password that it has accepted before. A Lock with a deadline
	// continues until then, and TryLock asks three times. A Cohort always uses Outage. A place
	// in the queue is kept meanwhile. 0 is DefaultOutage.
	Outage time.Duration

	// Margin is the time between the end of a lease that could not be renewed, by Done and
	// Deadline, and the time when the servers can grant the lock to another. The holder should
	// stop its work within it. It comes on top of one per cent and two milliseconds for clock
	// differences. 0 is DefaultMargin, but at most a tenth of the lease, or of HandoffTimeout
	// until the first renewal after a handover.
	Margin time.Duration

	// MaxHold bounds a lease, however well it is renewed, from when Lock returns it: how long
	// a holder that is alive but stuck keeps the lock. Then Done is closed, Err wraps ErrLost
	// and mentions MaxHold, and the lock is given back. 0 is no bound. Each re-entry and each
	// lease in a row of a Cohort has its own bound.
	MaxHold time.Duration

	_ struct{}
}

// withDefaults returns o with defaults, or an error for an invalid option or name.
func (o Options) withDefaults(name string) (Options, error) {
	o.TTL = cmp.Or(o.TTL, DefaultTTL)
	o.HandoffTimeout = min(cmp.Or(o.HandoffTimeout, DefaultHandoffTimeout), o.TTL)
	o.Outage = cmp.Or(o.Outage, DefaultOutage)
	o.Margin = cmp.Or(o.Margin, min(DefaultMargin, max(o.TTL/10, 0)))
	switch {
	case name == "":
		return o, fmt.Errorf("%w: the lock has no name", ErrUsage)
	case len(name) > maxName:
		return o, fmt.Errorf("%w: the name of the lock has %d bytes, more than %d", ErrUsage, len(name), maxName)
	case companionName.MatchString(name):
		return o, fmt.Errorf("%w: the lock is called %.80q: a name that ends with %s is a key of another lock", ErrUsage, name, companionName.FindString(name))
	case o.TTL < minLease || o.TTL > maxLease:
		return o, fmt.Errorf("%w: a lease of %v: want %v to %v", ErrUsage, o.TTL, minLease, maxLease)
	case o.HandoffTimeout < minLease:
		return o, fmt.Errorf("%w: a grant timeout of %v: want at least %v", ErrUsage, o.HandoffTimeout, minLease)
	case o.Margin < 0 || o.Margin >= o.TTL-drift(o.TTL):
		return o, fmt.Errorf("%w: a margin of %v: want more than 0, and less than the lease of %v minus the clock drift of %v",
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

// again is the longest time before a waiter asks again: two leases, at most a minute.
func (o Options) again() time.Duration { return min(2*o.TTL, time.Minute) }

// millis returns n milliseconds, at most maxLease: a key may live longer than any time.Duration.
func millis(n int64) time.Duration {
	return time.Duration(min(n, maxLease.Milliseconds())) * time.Millisecond
}

// companion returns the name of a key or channel of the lock called name, in the same cluster
// slot: the name in braces, or the name and a colon if it has a hash tag, then ~ and what. No
// two locks share a companion, and none has it as its key: such names are refused. Names with
// a closing brace or an empty pair, but no hash tag, have it in another slot.
func companion(name, what string) string {
	if hashTag(name) != name {
		return name + ":" + companionMark + what
	}
	return "{" + name + "}" + companionMark + what
}

const companionMark = "~"

// companionName matches companions, and mailboxes, which add an identity without a colon.
var companionName = regexp.MustCompile(companionMark + `(queue|token|tokens|released|mail:[^:~]*)$`)

// hashTag returns the part of a key between braces that determines its slot, or all of it.
func hashTag(key string) string {
	_, tail, opened := strings.Cut(key, "{")
	if tag, _, closed := strings.Cut(tail, "}"); opened && closed && tag != "" {
		return tag
	}
	return key
}

// Lockable is implemented by every lock of this package, and by an [Owner] of a [Reentrant].
type Lockable interface {
	Lock(ctx context.Context) (*Lease, error)
}

// Do calls f while it holds the lock. The context of f ends with ctx, and when the lock is lost;
// its cause is then an error that wraps ErrLost. Do returns the errors of f and of the release.
// An error that wraps ErrNotHeld means that f ran without the lock, at least at its end.
func Do(ctx context.Context, m Lockable, f func(ctx context.Context, l *Lease) error) error {
	return lock.Do(ctx, m.Lock, f)
}

// Elect calls lead while it holds the lock, as the leader among all callers. The context of
// lead ends when the lock is lost; Elect then ignores the result and waits again. Otherwise it
// gives the lock back and returns the result of lead. The error wraps the error of ctx when
// ctx ends, or is the error of Lock, for example after [Options].Wait.
func Elect(ctx context.Context, m Lockable, lead func(ctx context.Context, l *Lease) error) error {
	return lock.Elect(ctx, m.Lock, ErrLost, lead)
}

// Locker returns m as a sync.Locker that panics if Lock or Unlock fails. Prefer Lock or Do.
func Locker(m Lockable) sync.Locker { return lock.Locker(m.Lock, ErrNotHeld) }

// A base has the common parts of all locks: a name on a server, and options.
type base struct {
	c    *Client
	name string
	o    Options
	err  error // the error of an invalid name, of o or of c's options
}

func (c *Client) base(name string, o Options) base {
	o, err := o.withDefaults(name)
	return base{c, name, o, cmp.Or(err, c.misname)}
}

func (b *base) newLease(renewal call, free func(ctx context.Context) (held bool, err error)) *Lease {
	return &Lease{c: b.c, name: b.name, renewal: renewal, span: b.o.TTL, margin: b.o.Margin, fixed: b.o.DisableRenewal,
		free: free, again: free}
}

// Name returns the key of the lock.
func (b *base) Name() string { return b.name }

type acquirer interface {
	acquire(ctx context.Context, try bool) (*Lease, error)
}

func (b *base) lock(ctx context.Context, try bool, a acquirer) (*Lease, error) {
	if b.err != nil {
		return nil, b.err
	}
	wait := b.o.Wait
	if try {
		wait = 0
	}
	return b.o.limited(b.c.await(b.c.traced(ctx), b.name, wait, func(ctx context.Context) (*Lease, error) { return a.acquire(ctx, try) }))
}

// await runs acquire in a goroutine of c and waits until ctx, which has the traces, ends, or for
// wait if that is not 0.
func (c *Client) await(ctx context.Context, name string, wait time.Duration, acquire func(context.Context) (*Lease, error)) (l *Lease, err error) {
	ctx, stop := bounded(ctx, wait)
	defer stop()
	if t := lock.TraceOf(ctx); t != nil {
		defer func(began time.Time) { notifyOutcome(t, name, began, l, err) }(time.Now())
	}
	abandon := func(l *Lease) { _ = l.discard(ctx) }
	for {
		l, err = lock.Await(ctx, c.admit, ErrClosed, func() (*Lease, error) { return acquire(ctx) }, abandon)
		if err != nil || l.Err() == nil {
			break
		}
		abandon(l) // the process was stopped for longer than the lease
	}
	switch {
	case err == nil:
	case err == ErrNotAcquired: // of a TryLock
		err = busy(name)
	case err == ctx.Err(): // the error of acquire has more detail
		err = ended(ctx, name)
	}
	return l, err
}

func busy(name string) error {
	return fmt.Errorf("%w: %s: another client has it or waits for it", ErrNotAcquired, name)
}

func bounded(ctx context.Context, wait time.Duration) (context.Context, context.CancelFunc) {
	if wait == 0 {
		return ctx, func() {}
	}
	return context.WithTimeoutCause(ctx, wait, fmt.Errorf("the wait of %v is over: %w", wait, context.DeadlineExceeded))
}

func ended(ctx context.Context, name string) error {
	err := context.Cause(ctx)
	if !errors.Is(err, ctx.Err()) {
		err = fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return fmt.Errorf("%w: %s: %w", ErrNotAcquired, name, err)
}

// gaveUp returns err of a failed Lock, or ctx's.
func gaveUp(ctx context.Context, name string, err error) error {
	if until, ok := ctx.Deadline(); ok && !time.Now().Before(until) {
		<-ctx.Done() // the client library may have checked the deadline before
	}
	if ctx.Err() != nil {
		last := err // reported too, unless it is an effect of the end
		err = ended(ctx, name)
		if !errors.Is(last, context.Canceled) && !errors.Is(last, context.DeadlineExceeded) && !errors.Is(last, ErrClosed) {
			err = fmt.Errorf("%w: %w", err, explain(last))
		}
	}
	if !errors.Is(err, ErrNotAcquired) {
		err = fmt.Errorf("redislock: lock %s: %w", name, explain(err))
	}
	return err
}

func (c *Client) rest(ctx context.Context, d time.Duration) error {
	sleep(ctx, c.serving, d)
	return c.ended(ctx)
}

func (c *Client) ended(ctx context.Context) error { return errors.Join(ctx.Err(), c.closedErr()) }

func (c *Client) pause(ctx context.Context, d time.Duration) bool { return sleep(ctx, c.open, d) }

func sleep(ctx, other context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
	case <-other.Done():
	}
	return false
}

// The states of a lease: how the holder's part of it ended.
const (
	stateHeld     = iota
	stateUnlocked // Unlock was called, or the lease was given back as part of another
	stateRevoked  // the client has ended it and given it back
)

// limited bounds l by MaxHold, unless err is the reason that there is no lease.
func (o Options) limited(l *Lease, err error) (*Lease, error) {
	if err != nil || o.MaxHold == 0 {
		return l, err
	}
	overdue := func() { _ = l.revoke(l.limit.Err(ErrLost)) } // repeated in the background if it fails
	l.c.mu.Lock()
	defer l.c.mu.Unlock()
	l.limit.Begin(l.alive, o.MaxHold, l.c.clock.Now, func() { l.task(overdue) })
	return l, nil
}

// The errors of this package. Errors of the client library are wrapped unchanged.
var (
	// ErrNotHeld is returned by Unlock if the lock was, or may have been, lost or released.
	ErrNotHeld = fmt.Errorf("redislock: %w", lock.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits for
	// it, and by Lock, with the error of its context, after ctx or Options.Wait has ended.
	ErrNotAcquired = fmt.Errorf("redislock: %w", lock.ErrNotAcquired)

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = fmt.Errorf("redislock: %w", lock.ErrLost)

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = fmt.Errorf("redislock: %w", lock.ErrReleased)

	// ErrUnanswered is returned by Unlock if the server has not answered in time or could not be
	// reached. The lease is over for its owner; the client releases the lock in the background.
	ErrUnanswered = errors.New("redislock: the server has not answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("redislock: the client is closed")

	// ErrUsage is returned, without a request, for an invalid option or name.
	ErrUsage = fmt.Errorf("redislock: %w", lock.ErrUsage)
)

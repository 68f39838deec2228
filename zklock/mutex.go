package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/lock"
)

// Options configures a lock. The zero value is usable.
type Options struct {
	// Container makes missing parents of the tickets container nodes, which the server removes
	// some time after their last child. It needs ZooKeeper 3.5.3. Otherwise they are persistent
	// and stay.
	Container bool

	// Wait bounds Lock, whatever its context allows. Lock then returns an error that wraps
	// ErrNotAcquired and context.DeadlineExceeded. 0 is no bound. TryLock does not wait.
	Wait time.Duration

	// MaxHold bounds a lease from when Lock returns it, even if its session is alive. It bounds
	// how long a holder that is alive but stuck excludes the others. Then the lease is lost:
	// Done is closed, Err wraps ErrLost and mentions MaxHold, and the lock is given back at
	// once. 0 is no bound. Each Lock of a Reentrant has its own bound.
	MaxHold time.Duration

	// Checkable makes leases of a Mutex, a Multi and a RWMutex support IsOwner, for one more
	// request per acquisition. Other locks do not need it.
	Checkable bool

	_ struct{}
}

// A Mutex is a lock between all clients that use the same path. It is safe for concurrent use
// and can be locked again after any error. It is not reentrant: a holder that locks it again
// waits for itself. It has no state: one made for every Lock is equivalent to a kept one.
//
// Its tickets queue, and each waiter watches the one ahead, whose holder hands over the lock by
// the event of its release.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for internet-scale systems",
// USENIX ATC 2010, §2.4. The handover by the event is not in it; we know of no earlier
// description.
type Mutex struct {
	queue
	p *protocol
}

// Mutex returns the mutex at path, such as "/locks/reindex". Nothing else should be below that
// node; children that are not tickets are ignored. The node and its parents are made when needed
// and never written to: their data is the user's, even if the node is recreated, see
// [ErrExhausted]. Lock returns [ErrPath] for an invalid path.
func (c *Client) Mutex(path string, o Options) *Mutex {
	return &Mutex{queue{c: c, path: path, o: o}, handoffQueue}
}

// Path returns the path of the lock.
func (m *Mutex) Path() string { return m.path }

// Lock waits for the lock until ctx ends, in order of arrival; the error then wraps
// ErrNotAcquired and the error of ctx. It keeps waiting while the servers are unreachable; only
// ctx and Options.Wait bound it.
//
// Behind others of this kind it takes two requests and one watch event, which is the lock. Alone
// it takes one request, or two if another client was there since. Behind other locks on the
// path, or another goroutine of this client, it takes three. Unlock takes one. A client that
// waits or holds for longer than a second, or a third of the session timeout if that is less,
// causes one more request and event. For contending goroutines of one client a [Cohort] is
// better.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free and has no waiters. Otherwise the error wraps
// ErrNotAcquired.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	ctx, a := m.begin(ctx)
	return a.end(m.await(ctx, func(ctx context.Context) (*Lease, error) { return newTicket(&m.queue, m.p).lock(ctx, try) }))
}

// await runs take in a goroutine of the client and waits for it until ctx or Options.Wait ends.
func (q *queue) await(ctx context.Context, take func(ctx context.Context) (*Lease, error)) (*Lease, error) {
	ctx, stop, err := q.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	l, err := q.living(func() (*Lease, error) {
		return lock.Await(ctx, q.c.spawn, ErrClosed, func() (*Lease, error) { return take(ctx) }, func(l *Lease) { l.release() })
	})
	return l, q.named(ctx, err)
}

// living returns a live lease from take. It repeats take if the process was stopped for longer
// than the lease.
func (q *queue) living(take func() (*Lease, error)) (*Lease, error) {
	for {
		l, err := take()
		if err == nil {
			q.c.pass(lockGranted)
		}
		if err != nil || l.Err() == nil {
			return l, err
		}
		l.drop()
	}
}

var errWaited = errors.New("zklock: waited long enough")

// bounded returns ctx, bounded by Options.Wait, or an error if no lock can be taken.
func (q *queue) bounded(ctx context.Context) (context.Context, context.CancelFunc, error) {
	switch wait := q.o.Wait; {
	case q.c.open.Err() != nil:
		return nil, nil, ErrClosed
	case q.o.MaxHold < 0:
		return nil, nil, fmt.Errorf("%w: a MaxHold of %v: want more than 0, or 0 for no bound", ErrUsage, q.o.MaxHold)
	case wait < 0:
		return nil, nil, fmt.Errorf("%w: a wait of %v: want more than 0, or 0 for no bound", ErrUsage, wait)
	case wait == 0:
		return ctx, func() {}, nil
	default:
		ctx, stop := context.WithTimeoutCause(ctx, wait, errWaited)
		return ctx, stop, nil
	}
}

// named adds the lock's path to err if err is only the end of ctx.
func (q *queue) named(ctx context.Context, err error) error {
	switch {
	case err == nil || ctx.Err() == nil || !errors.Is(err, ctx.Err()):
		return err
	case context.Cause(ctx) == errWaited:
		return fmt.Errorf("%w: lock %s: not within %v: %w", ErrNotAcquired, q.path, q.o.Wait, err)
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%w: lock %s: %w", ErrNotAcquired, q.path, err)
}

func busy(path string) error {
	return fmt.Errorf("%w: lock %s: another has it or waits for it", ErrNotAcquired, path)
}

// A Lockable returns leases. It is implemented by [Mutex], [Reentrant], [Owner], [RWMutex],
// [RWMutexOwner], [Semaphore], [SemaphoreV2], [Cohort], [Multi] and the result of
// [RWMutex.RLocker].
type Lockable interface {
	Lock(ctx context.Context) (*Lease, error)
}

// Do calls f while it holds the lock. The context of f ends with ctx, and when the lock is lost;
// its cause is then an error that wraps ErrLost. Do returns the errors of f and of the release.
// An error that wraps ErrNotHeld means that f ran without the lock, at least at its end.
func Do(ctx context.Context, m Lockable, f func(ctx context.Context, l *Lease) error) error {
	return lock.Do(ctx, m.Lock, f)
}

// Elect calls lead while it holds the lock, as the leader among all callers with the same lock.
// The context of lead ends when the lock is lost. When lead returns after a loss, Elect ignores
// its result and waits for the lock again. Otherwise Elect gives the lock back and returns the
// result of lead. It returns an error that wraps the error of ctx when ctx ends, and the error
// of Lock when Lock fails.
func Elect(ctx context.Context, m Lockable, lead func(ctx context.Context, l *Lease) error) error {
	return lock.Elect(ctx, m.Lock, ErrLost, lead)
}

// Locker returns m as a sync.Locker. Its methods panic if Lock or Unlock returns an error: the
// client is closed, or the lock was lost. Prefer Lock or Do.
func Locker(m Lockable) sync.Locker { return lock.Locker(m.Lock, ErrNotHeld) }

package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"locklab/internal/lease"
)

// Options is how a lock keeps its nodes. The zero value is usable.
type Options struct {
	// Container makes the missing parents of the tickets container nodes,
	// which the server removes some time after their last child has gone.
	// It needs ZooKeeper 3.5.3. Otherwise they are persistent and stay.
	Container bool

	// Wait is how long Lock waits at most, whatever its context allows. Then it
	// returns an error that wraps ErrNotAcquired and context.DeadlineExceeded. 0 is no
	// bound. TryLock does not wait.
	Wait time.Duration

	// MaxHold is the most that a lease lasts, from when Lock returns it, though its
	// session lives: it bounds how long a holder that is alive but stuck keeps the
	// others out. When it is over the lease is lost: Done is closed, Err wraps ErrLost
	// and says MaxHold, and the lock is given back at the servers at once. 0 is no
	// bound. Of a Reentrant each Lock has its own.
	MaxHold time.Duration

	// Checkable lets a Mutex, a Multi and a RWMutex give leases with IsOwner. To
	// take the lock then costs one request more. Others need no such option.
	Checkable bool

	_ struct{}
}

// A Mutex is a lock between all clients that use the same path. Any number of
// goroutines may use it; it can be locked again after any error. It is not
// reentrant: a holder that locks it again waits for itself. It remembers nothing:
// one made for every Lock is as good as one that is kept.
//
// Its tickets queue, and each waiter watches the one ahead, whose holder hands the
// lock to it by the event of its release.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4. The hand-over by the event is not
// in it; no earlier description of it is known.
type Mutex struct {
	queue
	p *protocol
}

// Mutex returns the mutex at path, such as "/locks/reindex". Below that node
// there should be nothing else; children that are no tickets are ignored. The
// node and its parents are made when needed, and never written to: their data is
// the user's, also if the node is made again, see [ErrExhausted]. A path that cannot be is an error of Lock, [ErrPath].
func (c *Client) Mutex(path string, o Options) *Mutex {
	return &Mutex{queue{c: c, path: path, o: o}, handoffQueue}
}

// Path returns where the mutex is.
func (m *Mutex) Path() string { return m.path }

// Lock waits for the lock until ctx ends, in order of arrival; the error then wraps
// ErrNotAcquired and that of ctx. It waits on
// while the servers cannot be reached; only ctx and Options.Wait bound it.
//
// Behind others of this kind it takes two requests and one watch event, which is the
// lock; alone one, or two if another client was there since. Behind other locks on the
// path, or another goroutine of this client, it takes three. Unlock takes one. A client
// that waits, or holds the lock, for longer than a second, or a third of the session
// timeout if that is less, causes one request and one event more. Goroutines of one client
// that contend are better served by a [Cohort].
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free and has no waiters. The error wraps
// ErrNotAcquired if it is not.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	ctx, a := m.begin(ctx)
	return a.end(m.await(ctx, func(ctx context.Context) (*Lease, error) { return newTicket(&m.queue, m.p).lock(ctx, try) }))
}

// await runs take in a goroutine of the client and waits for it as long as ctx
// lets it, and no longer than Options.Wait.
func (q *queue) await(ctx context.Context, take func(ctx context.Context) (*Lease, error)) (*Lease, error) {
	ctx, stop, err := q.bounded(ctx)
	if err != nil {
		return nil, err
	}
	defer stop()
	l, err := q.living(func() (*Lease, error) {
		return lease.Await(ctx, q.c.spawn, ErrClosed, func() (*Lease, error) { return take(ctx) }, func(l *Lease) { l.release() })
	})
	return l, q.named(ctx, err)
}

// living returns a lease by take that has not ended. It takes another one if the process
// was stopped for longer than the first.
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

// errWaited is the cause of a context that has ended by Options.Wait.
var errWaited = errors.New("zklock: waited long enough")

// bounded returns ctx, which also ends after Options.Wait, or an error if no lock can be
// taken.
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

// named says which lock was not taken if err is only that ctx has ended.
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

// busy returns the error of a TryLock that could not have the lock.
func busy(path string) error {
	return fmt.Errorf("%w: lock %s: another has it or waits for it", ErrNotAcquired, path)
}

// A Lockable is what gives leases: a [Mutex], [Reentrant], [Owner], [RWMutex],
// [RWMutexOwner], [Semaphore], [SemaphoreV2], [Cohort] or [Multi], or the reader's
// side of a RWMutex, see [RWMutex.RLocker].
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

// Elect calls lead while it holds the lock, as the leader of all that do so with the
// same lock. The context of lead ends when the lock is lost; when lead has returned
// after that, whatever it returns, Elect waits for the lock again. Otherwise it gives
// the lock back and returns what lead has returned. When ctx ends it returns an error
// that wraps that of ctx, and when Lock fails that of Lock.
func Elect(ctx context.Context, m Lockable, lead func(ctx context.Context, l *Lease) error) error {
	return lease.Elect(ctx, m.Lock, ErrLost, lead)
}

// Locker returns m in the shape of a sync.Locker. Its methods panic where Lock
// and Unlock return an error: if the client is closed, and if the lock turns
// out to have been lost. Code that can do better uses Lock or Do.
func Locker(m Lockable) sync.Locker { return lease.Locker(m.Lock, ErrNotHeld) }

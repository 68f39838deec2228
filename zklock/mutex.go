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
	// Container makes missing parents container nodes, which the server (3.5.3 or later)
	// removes some time after their last child. Otherwise they are persistent.
	Container bool

	// Wait bounds Lock, whatever its context allows. Lock then returns an error that wraps
	// ErrNotAcquired and context.DeadlineExceeded. 0 is no bound. TryLock does not wait.
	Wait time.Duration

	// MaxHold bounds a lease from when Lock returns it: how long a stuck holder with a live
	// session excludes the others. Then Done is closed, Err wraps ErrLost and mentions MaxHold,
	// and the lock is given back. 0 is no bound. Each Lock of a Reentrant has its own bound.
	MaxHold time.Duration

	// Checkable makes a Mutex, a Multi and a RWMutex support IsOwner, for one more request.
	Checkable bool

	_ struct{}
}

// A Mutex is a lock between all clients that use the same path. It is safe for concurrent use
// and can be locked again after any error. It is not reentrant: a holder that locks it again
// waits for itself. It has no state, so it may be made for every Lock.
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

// Mutex returns the mutex at path, such as "/locks/reindex". Other children of that node are
// ignored. The node and its parents are made when needed; their data is the user's, even if it
// is recreated, see [ErrExhausted]. Lock returns [ErrPath] for an invalid path.
func (c *Client) Mutex(path string, o Options) *Mutex {
	return &Mutex{newQueue(c, path, o), handoffQueue}
}

// Lock waits for the lock until ctx ends, in order of arrival; the error then wraps
// ErrNotAcquired and the error of ctx. It keeps waiting while the servers are unreachable;
// only ctx and Options.Wait bound it.
//
// Behind others of this kind it takes two requests and one watch event, which is the lock.
// Alone it takes one request, or two if another client was there since. Behind other locks on
// the path, or another goroutine of this client, it takes three. Unlock takes one. A client
// that waits or holds for longer than a second, or a third of the session timeout if that is
// less, causes one more request and event.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.p, false) }

// TryLock takes the lock if it is free without waiters; else the error wraps ErrNotAcquired.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lockBy(ctx, m.p, true) }

// acquire returns a live lease from take, under ctx with Options.Wait, and reports it to the
// Trace. It repeats take if the process was stopped for too long.
func (q *queue) acquire(ctx context.Context, take func(ctx context.Context) (*Lease, error)) (*Lease, error) {
	ctx, a := q.begin(ctx)
	ctx, stop, err := q.bounded(ctx)
	if err != nil {
		return a.end(nil, err)
	}
	defer stop()
	for {
		l, err := take(ctx)
		if err != nil {
			return a.end(nil, q.named(ctx, err))
		}
		if q.c.pass(lockGranted); l.Err() == nil {
			return a.end(l, nil)
		}
		l.state.Store(stateUnlocked) // an Owner does not count it any more
		q.c.spawn(func() { l.release() })
	}
}

func (q *queue) lockBy(ctx context.Context, p *protocol, try bool) (*Lease, error) {
	return q.acquire(ctx, func(ctx context.Context) (*Lease, error) {
		return q.await(ctx, func() (*Lease, error) { return newTicket(q, p).lock(ctx, try) })
	})
}

func (q *queue) await(ctx context.Context, take func() (*Lease, error)) (*Lease, error) {
	return lock.Await(ctx, q.c.spawn, ErrClosed, take, func(l *Lease) { l.release() })
}

var errWaited = errors.New("zklock: waited long enough")

// bounded returns ctx, bounded by Options.Wait, or an error if no lock can be taken.
func (q *queue) bounded(ctx context.Context) (context.Context, context.CancelFunc, error) {
	switch wait := q.o.Wait; {
	case q.c.open.Err() != nil:
		return nil, nil, ErrClosed
	case q.permits < 1:
		return nil, nil, fmt.Errorf("%w: semaphore %s: %d permits: want at least 1", ErrUsage, quoted(q.name), q.permits)
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
		return fmt.Errorf("%w: lock %s: not within %v: %w", ErrNotAcquired, q.name, q.o.Wait, err)
	}
	if cause := context.Cause(ctx); !errors.Is(err, cause) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	return fmt.Errorf("%w: lock %s: %w", ErrNotAcquired, q.name, err)
}

func busy(path string) error {
	return fmt.Errorf("%w: lock %s: another has it or waits for it", ErrNotAcquired, path)
}

// A Lockable returns leases: [Mutex], [Owner], [RWMutex], [RWMutexOwner],
// [Semaphore], [SemaphoreV2], [Cohort], [Multi] and the result of [RWMutex.RLocker].
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
// ctx ends, or is the error of Lock.
func Elect(ctx context.Context, m Lockable, lead func(ctx context.Context, l *Lease) error) error {
	return lock.Elect(ctx, m.Lock, ErrLost, lead)
}

// Locker returns m as a sync.Locker that panics if Lock or Unlock fails. Prefer Lock or Do.
func Locker(m Lockable) sync.Locker { return lock.Locker(m.Lock, ErrNotHeld) }

// A Reentrant is a [Mutex] whose owner may take it again. Curator's InterProcessMutex can
// contend for the same path, and so can a Mutex, but their tokens must not be compared.
//
// It follows the protocol of Curator's InterProcessMutex: a queue in which each waiter watches
// the ticket ahead, and an owner in the client that may take the lock again.
//
//  1. An owner that holds the lock takes it again without a request.
//  2. Else create a ticket called _c_<unique>-lock-<number>. If the reply is lost, find the
//     ticket by its unique part.
//  3. List the tickets. The owner of the lowest holds the lock.
//  4. Watch the next lower ticket by getData. If it is gone already, go to 3.
//  5. When the watch fires, go to 3. When the time is up, delete the own ticket.
//  6. Delete the ticket when the owner has unlocked as often as it has locked.
//
// Acquire and release take three requests alone, five and one watch event behind others, and
// none for taking it again. In Curator the owner is a thread, and each release wakes all threads
// that wait with one InterProcessMutex. Here an owner is a value, and each waits separately.
//
// Each Lock returns a separate lease. All leases of one acquisition have the same token and are
// lost together. The lock is given back when the last of them is unlocked, in any order.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks, InterProcessMutex and
// LockInternals.
type Reentrant struct{ queue }

// Reentrant returns the lock at path. See [Client.Mutex] on paths.
func (c *Client) Reentrant(path string, o Options) *Reentrant {
	return &Reentrant{newQueue(c, path, o)}
}

// Owner returns a new owner, which may take the lock again while it holds it: for a goroutine,
// for a request if it is passed on in the context, or for all goroutines of a client.
func (m *Reentrant) Owner() *Owner {
	return newOwner(&m.queue, func() (*ticket, error) { return newTicket(&m.queue, fairQueue), nil })
}

// The errors of this package, which wrap the library's unchanged, such as zk.ErrNoAuth.
var (
	// ErrNotHeld is returned by Unlock if the lock was lost or was released before.
	ErrNotHeld = fmt.Errorf("zklock: %w", lock.ErrNotHeld)

	// ErrNotAcquired is returned by TryLock while another client holds the lock or waits for
	// it, and by Lock, with the error of its context, after ctx or Options.Wait has ended.
	ErrNotAcquired = fmt.Errorf("zklock: %w", lock.ErrNotAcquired)

	// ErrLost is the cause of a lease that ended without Unlock.
	ErrLost = fmt.Errorf("zklock: %w", lock.ErrLost)

	// ErrReleased is the cause of a lease that ended by Unlock.
	ErrReleased = fmt.Errorf("zklock: %w", lock.ErrReleased)

	// ErrSessionExpired is ErrLost because the servers ended the session.
	ErrSessionExpired = fmt.Errorf("%w: the session expired", ErrLost)

	// ErrSessionTimeout is ErrUsage, returned by Dial if the servers do not grant the requested
	// timeout, or it is impossible.
	ErrSessionTimeout = fmt.Errorf("%w: session timeout", ErrUsage)

	// ErrUsage is in every error about an invalid option, path or server address.
	ErrUsage = fmt.Errorf("zklock: %w", lock.ErrUsage)

	// ErrPath is ErrUsage for an invalid path of a lock. No request was sent.
	ErrPath = fmt.Errorf("%w: bad path", ErrUsage)

	// ErrUnavailable is returned by Dial if it got no session before its context ended.
	ErrUnavailable = fmt.Errorf("zklock: %w", lock.ErrUnavailable)

	// ErrNoAuth is returned together with zk.ErrNoAuth and contains advice.
	ErrNoAuth = errors.New("zklock: the ACL of a node refuses this client: set Username and Password, or ACL, in ClientOptions")

	// ErrQuota is returned if the servers enforce quotas (enforceQuota), and one is used up.
	ErrQuota = errors.New("zklock: a ZooKeeper quota is used up: raise it by setquota, or delete nodes")

	// ErrUnanswered is returned by Unlock without an answer in time. The client releases the
	// lock in the background.
	ErrUnanswered = errors.New("zklock: no server has answered yet; still trying")

	// ErrClosed is returned by the methods of a lock whose Client was closed or shut down.
	ErrClosed = errors.New("zklock: the client is closed")
)

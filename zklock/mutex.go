package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/internal/lease"
)

// Options is how a lock keeps its nodes. The zero value is usable.
type Options struct {
	// Container makes the missing parents of the tickets container nodes,
	// which the server removes some time after their last child has gone.
	// It needs ZooKeeper 3.5.3. Otherwise they are persistent and stay.
	Container bool

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
// the user's. A path that cannot be is an error of Lock, [ErrPath].
func (c *Client) Mutex(path string, o Options) *Mutex {
	return &Mutex{queue{c, path, o}, handoffQueue}
}

// Path returns where the mutex is.
func (m *Mutex) Path() string { return m.path }

// Lock waits for the lock until ctx ends, in order of arrival. It waits on
// while the servers cannot be reached; only ctx bounds it.
//
// Alone it takes two requests, behind others three and one watch event, which is
// the lock. Unlock takes one. A client that waits, or holds the lock, for longer
// than a second, or a third of the session timeout if that is less, causes one
// request and one event more.
func (m *Mutex) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock takes the lock if it is free and has no waiters. The error wraps
// ErrNotAcquired if it is not.
func (m *Mutex) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Mutex) lock(ctx context.Context, try bool) (*Lease, error) {
	ctx = orBackground(ctx)
	return m.await(ctx, func() (*Lease, error) { return newTicket(&m.queue, m.p).lock(ctx, try) })
}

// await runs take in a goroutine of the client and waits for it as long as ctx
// lets it.
func (q *queue) await(ctx context.Context, take func() (*Lease, error)) (*Lease, error) {
	l, err := lease.Await(ctx, q.c.spawn, ErrClosed, take, func(l *Lease) { l.release() })
	return l, q.named(ctx, err)
}

// named says which lock was not taken if err is only that ctx has ended.
func (q *queue) named(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return fmt.Errorf("zklock: lock %s: %w", q.path, err)
	}
	return err
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

// Locker returns m in the shape of a sync.Locker. Its methods panic where Lock
// and Unlock return an error: if the client is closed, and if the lock turns
// out to have been lost. Code that can do better uses Lock or Do.
func Locker(m Lockable) sync.Locker { return lease.Locker(m.Lock, ErrNotHeld) }

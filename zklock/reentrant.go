package zklock

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"locklab/lock"
)

// Ownership determines the owner of a call to a [Reentrant] lock; see also [Reentrant.Owner].
type Ownership int

const (
	// ByContext: the owner that WithOwner put into the context, for example for all goroutines
	// of one request.
	ByContext Ownership = iota

	// ByClient: every goroutine of the client. It excludes only other clients.
	ByClient

	// BySession is ByClient until the session expires. Then the next Lock queues again, even if
	// leases of the old session are not unlocked; ByClient returns an error then.
	BySession
)

// ErrNoOwner is returned by methods of a ByContext lock if the context has no owner.
var ErrNoOwner = errors.New("zklock: no owner in the context: use WithOwner")

// ReentrantOptions configures a Reentrant. The zero value is usable.
type ReentrantOptions struct {
	Options

	// Ownership determines the owner of a call. 0 is ByContext.
	Ownership Ownership

	// OnRevoke, if not nil, is called each time that another client requests the lock by
	// Client.Revoke or Curator's Revoker, in a goroutine that Close waits for. The request is
	// not binding. It costs one more request per acquisition.
	OnRevoke func(*Owner)

	_ struct{}
}

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
type Reentrant struct {
	queue
	o ReentrantOptions

	mu      sync.Mutex
	session int    // of owner, if the lock is owned BySession
	owner   *Owner // nil if the lock is owned ByContext
}

// Reentrant returns the lock at path. See [Client.Mutex] on paths.
func (c *Client) Reentrant(path string, o ReentrantOptions) *Reentrant {
	m := &Reentrant{queue: queue{c: c, path: path, o: o.Options}, o: o}
	if o.Ownership == ByClient || o.Ownership == BySession {
		m.owner, m.session = m.Owner(), c.sessions()
	}
	return m
}

// Path returns the path of the lock.
func (m *Reentrant) Path() string { return m.path }

// Owner returns a new owner, which may take the lock again while it holds it.
func (m *Reentrant) Owner() *Owner {
	o := &Owner{q: &m.queue}
	o.ticket = func() *ticket { return newTicket(&m.queue, fairQueue) }
	if m.o.OnRevoke != nil {
		o.granted = func(n *possession) { m.c.spawn(func() { n.awaitRevoke(m.o.OnRevoke) }) }
	}
	return o
}

// Lock is [Owner.Lock] for the owner by Ownership.
func (m *Reentrant) Lock(ctx context.Context) (*Lease, error) { return m.lock(ctx, false) }

// TryLock is [Owner.TryLock] for the owner by Ownership.
func (m *Reentrant) TryLock(ctx context.Context) (*Lease, error) { return m.lock(ctx, true) }

func (m *Reentrant) lock(ctx context.Context, try bool) (*Lease, error) {
	return m.acquire(ctx, func(ctx context.Context) (*Lease, error) {
		o, err := m.ownerOf(ctx)
		if err != nil {
			return nil, err
		}
		return o.share(ctx, try)
	})
}

func (m *Reentrant) ownerOf(ctx context.Context) (*Owner, error) {
	switch m.o.Ownership {
	case ByContext:
		with, ok := ctx.Value(ownerKey{}).(*owners)
		if !ok {
			return nil, fmt.Errorf("%w: %s", ErrNoOwner, m.path)
		}
		return with.of(m), nil
	case BySession:
		m.mu.Lock()
		defer m.mu.Unlock()
		if now := m.c.sessions(); now != m.session {
			m.session, m.owner = now, m.Owner()
		}
		return m.owner, nil
	case ByClient:
		return m.owner, nil
	}
	return nil, fmt.Errorf("%w: lock %s: Ownership %d: want ByContext, ByClient or BySession", ErrUsage, quoted(m.path), m.o.Ownership)
}

// WithOwner returns a context with a new owner for every ByContext lock.
func WithOwner(ctx context.Context) context.Context {
	return context.WithValue(lock.Given(ctx), ownerKey{}, &owners{by: make(map[*Reentrant]*Owner)})
}

type ownerKey struct{}

type owners struct {
	mu sync.Mutex
	by map[*Reentrant]*Owner
}

func (w *owners) of(m *Reentrant) *Owner {
	w.mu.Lock()
	defer w.mu.Unlock()
	o := w.by[m]
	if o == nil {
		o = m.Owner()
		w.by[m] = o
	}
	return o
}

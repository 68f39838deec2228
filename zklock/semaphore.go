package zklock

import (
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/zklock/internal/recipe"
)

// A Semaphore is a lock with several concurrent holders, each with one permit. Permits are given
// in order of arrival. It is safe for concurrent use and can be locked again after any error.
// Clients need the right to write to the tickets they make, see [ClientOptions.ACL].
//
// # Fencing
//
// A token is greater than the tokens of all that had their permit before this one was requested.
// A resource cannot use that to refuse a paused holder while others hold permits: a greater
// token may exist, and both be valid.
//
// # References
//
// Apache Curator 5.4.0, LockInternals, whose maxLeases is the idea.
type Semaphore struct{ queue }

// Semaphore returns the semaphore at path, see [Client.Mutex] on paths. All clients must give
// the same number of permits. Otherwise as many hold as the greatest number allows, and some may
// wait longer than necessary. With less than 1 permit Lock returns an error that wraps ErrUsage.
func (c *Client) Semaphore(path string, permits int, o Options) *Semaphore {
	s := &Semaphore{newQueue(c, path, o, permitKind)}
	s.permits = permits
	return s
}

// Lock waits for a permit until ctx ends, see [Mutex.Lock].
func (s *Semaphore) Lock(ctx context.Context) (*Lease, error) {
	return s.lockBy(ctx, permitQueue, false)
}

// TryLock takes a permit if one is free. Otherwise the error wraps ErrNotAcquired.
func (s *Semaphore) TryLock(ctx context.Context) (*Lease, error) {
	return s.lockBy(ctx, permitQueue, true)
}

const permitKind = "permit-"

// permitQueue is the queue of [recipe.Fair] in which the first k tickets have a permit each.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owners of the first k hold a permit. A client that finds this and a
//     ticket behind writes the data of its own ticket again, which changes its version.
//  3. The first waiter, whose ticket is the k+1st, lists with a watch on the list. Any other
//     watches the ticket just ahead. If that is gone already, or was written to, it also lists
//     with a watch on the list.
//  4. When the watch fires, go to 2. The first waiter also goes to 2 after a session timeout:
//     while it may not read the list, servers use up its watch without an event.
//
// So a release of any holder wakes the first waiter, which then wakes the next to take over its
// watch. New arrivals wake only the first waiter.
//
// The obvious rule, to watch the ticket k places ahead, loses permits: holders leave in any
// order. If the second leaves first, it wakes the second waiter while the permit belongs to the
// first, which sleeps until the first holder leaves. Curator's first InterProcessSemaphore had
// that rule, before the protocol of [SemaphoreV2].
//
// Acquire and release take three requests without waiters, and about six and two watch events
// behind others, whatever the number of permits and waiters.
var permitQueue = &protocol{kind: permitKind, create: createEphemeral, look: viewPermits}

func viewPermits(t *ticket) (view, error) {
	c := t.q.c
	for {
		v, line, err := t.listPermits()
		i := t.index(line)
		t.place = i - t.q.permits
		switch {
		case err != nil || v.gone:
			return v, err
		case i < 0:
			return view{gone: true}, nil
		case i < t.q.permits:
			if i+1 < len(line) {
				path := t.path()
				c.spawn(func() { c.markHeld(path) })
			}
			return view{head: true, token: v.token}, nil
		}
		var ahead *ticketWatch
		if i > t.q.permits {
			path := t.q.path + "/" + line[i-1].Name
			if ahead, err = c.watchTicket(path); err != nil && !errors.Is(err, zk.ErrNoNode) {
				return view{}, fmt.Errorf("zklock: watch %s: %w", path, err)
			}
		}
		t.near = true
		switch {
		case ahead != nil && !ahead.held:
			return view{wake: ahead.wake, ticket: ahead}, nil
		case v.wake != nil: // it is the first waiter, or the holder ahead counts more permits
			return v, nil
		}
	}
}

// listPermits returns the tickets, with a watch on the list if the waiter is near the head.
func (t *ticket) listPermits() (v view, line []recipe.Place, err error) {
	var names []string
	var stat *zk.Stat
	if t.near && (t.onList == nil || fired(t.onList)) {
		names, stat, t.onList, err = t.q.c.conn.ChildrenW(t.q.path)
	} else {
		names, stat, err = t.q.c.list(t.q.path)
	}
	if t.near {
		v.wake, v.again = t.onList, t.q.c.SessionTimeout()
	}
	if errors.Is(err, zk.ErrNoNode) {
		return view{gone: true}, nil, nil
	}
	if err != nil {
		return view{}, nil, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	v.token = uint64(stat.Pzxid)
	return v, places(names, t.p.kind), nil
}

// markHeld marks the ticket at path as a holder's for the waiter behind, or else it is gone. The
// data stays the same: a quota would refuse more.
func (c *Client) markHeld(path string) {
	var again pause
	for {
		_, err := c.conn.Set(path, c.tag.nameData(), -1)
		if !transient(err) || again.wait(c.open, c) != nil {
			return
		}
	}
}

// A SemaphoreV2 is a [Semaphore] that shares its path with Curator's InterProcessSemaphoreV2.
// Without Curator a Semaphore is cheaper. It is Curator's protocol, a mutex around a queue of
// leases whose first k hold:
//
//  1. Take the mutex at <path>/locks, a [Reentrant].
//  2. Create a ticket in <path>/leases, an EPHEMERAL_SEQUENTIAL node.
//  3. List the tickets there and watch the list. If there are at most k, the permit is taken:
//     release the mutex.
//  4. When the watch fires, or after a session timeout, go to 3.
//
// A release wakes one waiter, the mutex's holder. Acquire and release take six requests, four
// of them writes, and about eight behind others.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks, InterProcessSemaphoreV2.
type SemaphoreV2 struct {
	queue // of the leases
	locks queue
}

const leaseKind = "lease-"

// SemaphoreV2 returns the semaphore at path, see [Client.Semaphore].
func (c *Client) SemaphoreV2(path string, permits int, o Options) *SemaphoreV2 {
	s := &SemaphoreV2{newQueue(c, path+"/leases", o, leaseKind), newQueue(c, path+"/locks", o)}
	s.name, s.locks.name, s.permits = path, path, permits
	return s
}

// Lock waits for a permit until ctx ends, see [Mutex.Lock].
func (s *SemaphoreV2) Lock(ctx context.Context) (*Lease, error) { return s.lock(ctx, false) }

// TryLock takes a permit if one is free and no other client is about to take one. Otherwise
// the error wraps ErrNotAcquired.
func (s *SemaphoreV2) TryLock(ctx context.Context) (*Lease, error) { return s.lock(ctx, true) }

func (s *SemaphoreV2) lock(ctx context.Context, try bool) (*Lease, error) {
	return s.acquire(ctx, func(ctx context.Context) (*Lease, error) {
		if err := checkPath(s.name); err != nil { // "" is invalid, though /locks is a path
			return nil, err
		}
		return s.await(ctx, func() (*Lease, error) { return s.take(ctx, try) })
	})
}

func (s *SemaphoreV2) take(ctx context.Context, try bool) (*Lease, error) {
	ls, err := takeAll(ctx, try, []*ticket{newTicket(&s.locks, fairQueue), newTicket(&s.queue, leaseQueue)})
	if err != nil {
		return nil, err
	}
	if err := ls[0].release(); errors.Is(err, errRefused) { // a lost mutex is no longer needed
		ls[1].release()
		return nil, fmt.Errorf("zklock: leave %s: %w", s.locks.path, explained(err))
	}
	return ls[1], nil
}

var leaseQueue = &protocol{kind: leaseKind, create: createEphemeral, look: viewLeases}

func viewLeases(t *ticket) (view, error) {
	t.near = true
	v, line, err := t.listPermits()
	v.gone, v.head = t.index(line) < 0, len(line) <= t.q.permits
	return v, err
}

package zklock

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// A SemaphoreV2 is a [Semaphore] that shares its path with Curator's InterProcessSemaphoreV2.
// Without Curator a Semaphore is cheaper. It is Curator's protocol, a mutex around a queue of
// leases whose first k hold:
//
//  1. Take the mutex at <path>/locks, a [Reentrant].
//  2. Create a ticket in <path>/leases, an EPHEMERAL_SEQUENTIAL node.
//  3. List the tickets there and watch the list. If there are at most k, the permit is taken:
//     release the mutex.
//  4. When the watch fires, go to 3.
//
// A release wakes one waiter, the mutex's holder. Acquire and release take six requests, four
// of them writes, and about eight behind others.
//
// # References
//
// Apache Curator 5.4.0, org.apache.curator.framework.recipes.locks, InterProcessSemaphoreV2.
type SemaphoreV2 struct {
	path          string
	locks, leases queue
	permits       int
}

const leaseKind = "lease-"

// SemaphoreV2 returns the semaphore at path, see [Client.Semaphore].
func (c *Client) SemaphoreV2(path string, permits int, o Options) *SemaphoreV2 {
	return &SemaphoreV2{
		path:    path,
		locks:   queue{c, path + "/locks", path, o},
		leases:  queue{c, path + "/leases", path, o},
		permits: permits,
	}
}

// Path returns the path of the semaphore.
func (s *SemaphoreV2) Path() string { return s.path }

// Lock waits for a permit until ctx ends, see [Mutex.Lock].
func (s *SemaphoreV2) Lock(ctx context.Context) (*Lease, error) { return s.lock(ctx, false) }

// TryLock takes a permit if one is free and no other client is about to take one. Otherwise
// the error wraps ErrNotAcquired.
func (s *SemaphoreV2) TryLock(ctx context.Context) (*Lease, error) { return s.lock(ctx, true) }

func (s *SemaphoreV2) lock(ctx context.Context, try bool) (*Lease, error) {
	return s.leases.acquire(ctx, func(ctx context.Context) (*Lease, error) {
		if err := cmp.Or(checkPath(s.path), checkPermits(s.path, s.permits)); err != nil { // "" is invalid, though /locks is a path
			return nil, err
		}
		return s.leases.await(ctx, func() (*Lease, error) { return s.take(ctx, try) })
	})
}

func (s *SemaphoreV2) take(ctx context.Context, try bool) (*Lease, error) {
	permit := &protocol{kind: leaseKind, look: func(t *ticket) (view, error) { return lookPermits(t, s.permits) }}
	ls, err := takeAll(ctx, try, []*ticket{newTicket(&s.locks, fairQueue), newTicket(&s.leases, permit)})
	if err != nil {
		return nil, err
	}
	if err := ls[0].release(); errors.Is(err, errRefused) { // a lost mutex is no longer needed
		ls[1].release()
		return nil, fmt.Errorf("zklock: leave %s: %w", s.locks.path, explained(err))
	}
	return ls[1], nil
}

func lookPermits(t *ticket, permits int) (view, error) {
	names, stat, wake, err := t.q.c.conn.ChildrenW(t.q.path)
	if errors.Is(err, zk.ErrNoNode) {
		return view{gone: true}, nil
	}
	if err != nil {
		return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	line := places(names, t.p.kind)
	return view{
		gone:  t.index(line) < 0,
		head:  len(line) <= permits,
		token: uint64(stat.Pzxid),
		wake:  wake,
	}, nil
}

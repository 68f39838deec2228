package zklock

import (
	"context"
	"errors"
	"fmt"
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

var leaseQueue = &protocol{kind: leaseKind, look: lookLeases}

func lookLeases(t *ticket) (view, error) {
	t.near = true
	v, line, err := t.listPermits()
	v.gone, v.head = t.index(line) < 0, len(line) <= t.q.permits
	return v, err
}

package zklock

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"

	"locklab/lock"
)

// An Owner may take again the lock that it holds, and frees it with the last Unlock. Its
// goroutines count as one: they do not exclude each other, and one of them queues for all. If
// that one gives up, another queues at the end. See [Reentrant.Owner].
type Owner struct {
	q      *queue
	ticket func() (*ticket, error) // makes the next place in the queue
	turn   chan struct{}           // empty while one of the goroutines queues

	mu  sync.Mutex
	now *possession // nil if it does not hold the lock
}

type possession struct {
	owner *Owner
	outer *Lease
	holds map[*Lease]bool // guarded by owner.mu
	lent  atomic.Bool     // another ticket may hold the lock by the outer lease's
}

func newOwner(q *queue, ticket func() (*ticket, error)) *Owner {
	o := &Owner{q: q, ticket: ticket, turn: make(chan struct{}, 1)}
	o.turn <- struct{}{}
	return o
}

// Lock takes the lock, at once and without a request if the owner holds it, else like
// [Mutex.Lock]. The error wraps ErrLost until all of its lost leases are unlocked.
func (o *Owner) Lock(ctx context.Context) (*Lease, error) { return o.lock(ctx, false) }

// TryLock is Lock without waiting. The error wraps ErrNotAcquired if another client holds the
// lock or waits for it.
func (o *Owner) TryLock(ctx context.Context) (*Lease, error) { return o.lock(ctx, true) }

// Count returns the number of leases that the owner has not unlocked, including lost ones.
func (o *Owner) Count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.count()
}

func (o *Owner) count() (n int) {
	if o.now != nil {
		for l := range o.now.holds {
			if l.state.Load() == stateHeld {
				n++
			}
		}
	}
	return n
}

// possession returns the current one, or nil if it has ended. With lend another ticket may hold the
// lock by it afterwards: its ticket is then released without a handover, also by Shutdown.
func (o *Owner) possession(lend bool) *possession {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil || o.now.outer.Err() != nil || o.count() == 0 {
		return nil
	}
	if lend {
		o.now.lent.Store(true)
	}
	return o.now
}

func (o *Owner) lock(ctx context.Context, try bool) (*Lease, error) {
	return o.q.acquire(ctx, func(ctx context.Context) (*Lease, error) { return o.take(ctx, try) })
}

func (o *Owner) take(ctx context.Context, try bool) (*Lease, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if l, err := o.again(); l != nil || err != nil {
		return l, err
	}
	queued, err := o.awaitTurn(ctx, try)
	if err != nil {
		return nil, err
	}
	defer func() { o.turn <- struct{}{} }()
	if l, err := o.again(); l != nil || err != nil {
		return l, err
	}
	t, err := o.ticket()
	if err != nil {
		return nil, err
	}
	n := &possession{owner: o, holds: make(map[*Lease]bool)}
	t.queued, t.lent = queued, n.lent.Load
	if n.outer, err = o.q.await(ctx, func() (*Lease, error) { return t.lock(ctx, try) }); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.now = n
	return n.hold(), nil
}

// awaitTurn waits until no other goroutine of the owner queues, and reports whether one did.
func (o *Owner) awaitTurn(ctx context.Context, try bool) (waited bool, err error) {
	select {
	case <-o.turn:
		return false, nil
	default:
	}
	if try {
		return false, fmt.Errorf("%w: lock %s: its owner waits for it", ErrNotAcquired, o.q.name)
	}
	lock.TraceOf(ctx).NotifyQueued(o.q.name, -1)
	return true, awaited(ctx, o.q.c.open, o.turn)
}

// again returns one more lease if the owner holds the lock.
func (o *Owner) again() (*Lease, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil {
		return nil, nil
	}
	cause := o.now.outer.Err()
	switch {
	case cause == nil:
		return o.now.hold(), nil
	case o.count() == 0:
		o.now = nil // its last Unlock is running
		return nil, nil
	}
	return nil, fmt.Errorf("zklock: lock %s again: %d leases are to be unlocked first: %w", o.q.path, o.count(), cause)
}

func (n *possession) hold() *Lease {
	l := &Lease{q: n.outer.q, token: n.outer.token, check: n.outer.check}
	l.life = newLife(n.outer.alive)
	l.free = func() (bool, error) { return n.leave(l) }
	n.holds[l] = true
	return l
}

func (n *possession) leave(l *Lease) (held bool, err error) {
	o := n.owner
	o.mu.Lock()
	delete(n.holds, l)
	last := len(n.holds) == 0
	if last && o.now == n {
		o.now = nil
	}
	o.mu.Unlock()
	if !last {
		return n.outer.Err() == nil, nil
	}
	err = n.outer.release() // an error also ends l, for the same reason
	return err == nil, err
}

package zklock

import (
	"context"
	"fmt"
	"sync"
	"time"

	"locklab/lock"
)

// An Owner may take again the lock that it holds, and frees it with the last Unlock. Its
// goroutines count as one: they do not exclude each other, and share a place in the queue. See
// [Reentrant.Owner].
type Owner struct {
	q       *queue
	ticket  func() *ticket    // makes the next place in the queue
	granted func(*possession) // called for each grant by the servers; may be nil

	mu     sync.Mutex
	now    *possession // nil if it does not hold the lock
	flight *flight     // nil if it does not wait for it
}

type possession struct {
	owner  *Owner
	ticket *ticket // its shared is guarded by owner.mu while this is owner.now
	node   string  // the ticket's
	outer  *Lease
	holds  map[*Lease]bool // guarded by owner.mu
}

type flight struct {
	try     bool
	cancel  context.CancelFunc
	done    chan struct{}           // closed when the ticket has ended or serves
	waiters map[chan<- granted]bool // guarded by the owner's mu
}

type granted struct {
	l   *Lease
	err error
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

func (o *Owner) possession() *possession {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now == nil || o.now.outer.Err() != nil || o.count() == 0 {
		return nil
	}
	return o.now
}

// lend is possession without a handover: another ticket may hold the lock by it afterwards.
func (o *Owner) lend() *possession {
	n := o.possession()
	if n == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.now != n {
		return nil
	}
	n.ticket.shared = true
	return n
}

func (o *Owner) lock(ctx context.Context, try bool) (*Lease, error) {
	return o.q.acquire(ctx, func(ctx context.Context) (*Lease, error) { return o.share(ctx, try) })
}

func (o *Owner) share(ctx context.Context, try bool) (*Lease, error) {
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		o.mu.Lock()
		l, err := o.enter()
		if l != nil || err != nil {
			o.mu.Unlock()
			return l, err
		}
		f := o.flight
		shared := f != nil
		if f == nil {
			f, err = o.start(lock.TraceOf(ctx), try)
		} else if try {
			err = fmt.Errorf("%w: lock %s: its owner waits for it", ErrNotAcquired, o.q.lockPath())
		}
		if err != nil {
			o.mu.Unlock()
			return nil, err
		}
		got := make(chan granted, 1)
		f.waiters[got] = true
		o.mu.Unlock()
		if shared {
			lock.TraceOf(ctx).TellQueued(o.q.lockPath(), -1)
		}
		g := o.wait(ctx, f, got)
		if g.err != nil && f.try && !try {
			continue // another caller did not want to wait
		}
		return g.l, g.err
	}
}

// enter returns one more lease if the owner holds the lock. The caller holds o.mu.
func (o *Owner) enter() (*Lease, error) {
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

// start takes a place in the queue, with trace, which may be nil. The caller holds o.mu.
func (o *Owner) start(trace *Trace, try bool) (*flight, error) {
	t := o.ticket()
	ctx := context.Background()
	if trace != nil {
		ctx = lock.OnlyTrace(ctx, trace)
	}
	ctx, cancel := context.WithCancel(ctx)
	f := &flight{try: try, cancel: cancel, done: make(chan struct{}), waiters: make(map[chan<- granted]bool)}
	if !o.q.c.spawn(func() { o.land(f, t, ctx) }) {
		cancel()
		return nil, ErrClosed
	}
	o.flight = f
	return f, nil
}

func (o *Owner) land(f *flight, t *ticket, ctx context.Context) {
	defer f.cancel()
	defer close(f.done)
	outer, err := t.lock(ctx, f.try)
	o.mu.Lock()
	if o.flight == f {
		o.flight = nil
	}
	if err != nil || len(f.waiters) == 0 {
		for got := range f.waiters {
			got <- granted{nil, err}
		}
		o.mu.Unlock()
		if outer != nil {
			outer.release()
		}
		return
	}
	o.now = &possession{owner: o, ticket: t, node: t.path(), outer: outer, holds: make(map[*Lease]bool)}
	if o.granted != nil {
		o.granted(o.now)
	}
	for got := range f.waiters {
		got <- granted{o.now.hold(), nil}
	}
	o.mu.Unlock()
}

// leaveWait bounds how long a Lock whose context has ended waits for its place to be given up,
// which then continues in the background.
const leaveWait = 100 * time.Millisecond

// wait waits with f until ctx ends. The last waiter that leaves gives up the place.
func (o *Owner) wait(ctx context.Context, f *flight, got chan granted) granted {
	select {
	case g := <-got:
		return g
	case <-ctx.Done():
	}
	o.mu.Lock()
	select {
	case g := <-got: // granted first
		o.mu.Unlock()
		return g
	default:
	}
	delete(f.waiters, got)
	last := len(f.waiters) == 0
	if last {
		f.cancel()
		if o.flight == f {
			o.flight = nil // a later caller queues again
		}
	}
	o.mu.Unlock()
	if last {
		select {
		case <-f.done:
		case <-time.After(leaveWait):
		}
	}
	return granted{nil, ctx.Err()}
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
	if err := n.outer.release(); err != nil { // also ends l, for the same reason
		return false, err
	}
	return true, nil
}

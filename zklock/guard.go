package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"
)

// A ticket can be removed by another client. A watch on it would cost every
// acquisition a request and an event, so it is set when a ticket turns out to be
// a slow one. Until then its owner does not know, and may hold the lock beside
// another: so slow is counted from when it began to wait.

// guardMost bounds guardAfter but in tests that count requests: sooner than a person or program can list the queue, see which
// ticket is in the way and delete it. A client that waits or holds for that long can afford
// a request.
const guardMost = time.Second

// guardAfter returns how old a slow ticket is.
func (c *Client) guardAfter() time.Duration { return min(c.guardMost, c.conn.SessionTimeout()/3) }

// wait returns when it is time to look again, then with the zero view, or when
// it has turned out what a look would show.
func (t *ticket) wait(ctx context.Context, v view) (view, error) {
	trace := traceOf(ctx)
	if !t.queued {
		t.queued = true
		ahead := t.place
		if t.q.name != "" {
			ahead = -1 // one of several queues, whose holders may wait in another
		}
		trace.queued(t.q.lockPath(), ahead)
	}
	v, why, err := t.sleep(ctx, v)
	trace.woken(t.q.lockPath(), why)
	return v, err
}

// sleep is wait that says why it is over, "" with an error.
func (t *ticket) sleep(ctx context.Context, v view) (view, Wake, error) {
	c := t.q.c
	var slow <-chan time.Time
	if v.gives && t.own == nil { // else nothing is decided without a look
		if t.waits.IsZero() {
			t.waits = c.clock.Now()
		}
		timer := time.NewTimer(c.clock.Until(t.waits.Add(c.guardAfter())))
		defer timer.Stop()
		slow = timer.C
	}
	var again <-chan time.Time
	if v.again > 0 {
		timer := time.NewTimer(v.again)
		defer timer.Stop()
		again = timer.C
	}
	for {
		select {
		case ev, ok := <-v.wake:
			if v.ticket != nil { // others may wait for the same event
				ev = v.ticket.take(ev, ok)
			}
			if v.gives && t.behind(v.ticket) && v.ticket.gave(c, ev) && !t.disturbed() {
				return view{head: true, token: t.czxid}, WakeGrant, nil
			}
			return view{}, wakeBy(ev), nil
		case <-again:
			return view{}, WakeTime, nil
		case <-t.own:
			t.own = nil
			return view{}, WakeDoubt, nil
		case <-slow:
			own, err := c.watchOwn(t.path(), t.czxid)
			if errors.Is(err, zk.ErrNoNode) {
				return view{gone: true}, WakeDoubt, nil
			}
			if err != nil {
				return view{}, "", fmt.Errorf("zklock: watch %s: %w", t.path(), err)
			}
			t.own = own
		case <-ctx.Done():
			return view{}, "", ctx.Err()
		case <-c.open.Done():
			return view{}, "", ErrClosed
		}
	}
}

// wakeBy returns what a waiter is told by ev, which is no grant.
func wakeBy(ev zk.Event) Wake {
	if ev.Type == zk.EventNotWatching || ev.Type == zk.EventSession {
		return WakeDoubt
	}
	return WakeMessage
}

// disturbed reports whether the watch on the own ticket has fired. Events come
// in the order of what they tell of.
func (t *ticket) disturbed() bool {
	select {
	case <-t.own:
		t.own = nil
		return true
	default:
		return false
	}
}

// guarded starts the guard of a lease whose ticket began to wait then, or not at
// all if since is zero: when it is slow or, with a watch at hand, now.
func (l *Lease) guarded(own <-chan zk.Event, since time.Time) {
	after := l.c.guardAfter()
	switch {
	case own != nil:
		after = 0
	case !since.IsZero():
		after = max(0, after-l.c.clock.Since(since))
	}
	l.slow = time.AfterFunc(after, func() { l.c.spawn(func() { l.guard(own) }) })
}

// guard ends the lease when its node has gone.
func (l *Lease) guard(own <-chan zk.Event) {
	c := l.c
	var again pause
	for l.Err() == nil {
		if own == nil {
			w, err := c.watchOwn(l.path+"/"+l.node, l.czxid)
			switch {
			case l.state.Load() != stateHeld:
				return
			case errors.Is(err, zk.ErrNoNode):
				c.lose(l, fmt.Errorf("%w: its node was removed", ErrLost))
				return
			case err == nil:
				own = w
			case !transient(err) || again.wait(l.alive, c) != nil:
				return
			}
			continue
		}
		select {
		case <-own:
			if l.state.Load() != stateHeld { // by that
				return
			}
			own = nil
		case <-l.alive.Done():
		case <-c.open.Done():
			return
		}
	}
}

// lose ends a lease.
func (c *Client) lose(l *Lease, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.end(cause)
	delete(c.leases, l)
}

package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/lock"
)

// Another client can remove a ticket. A watch on every ticket would cost each acquisition a
// request and an event, so only slow tickets, by the beginning of their wait, have one. Until
// then a removed owner may hold the lock concurrently with another.

// guardMost bounds guardAfter, except in tests that count requests: shorter than it takes to
// list the queue and delete a ticket, and long enough that a request hardly matters.
const guardMost = time.Second

func (c *Client) guardAfter() time.Duration { return min(c.guardMost, c.conn.SessionTimeout()/3) }

// wait returns the zero view to look again, or a view if an event makes that unnecessary.
func (t *ticket) wait(ctx context.Context, v view) (view, error) {
	trace := lock.TraceOf(ctx)
	if !t.queued {
		t.queued = true
		ahead := t.place
		if t.q.name != t.q.path {
			ahead = -1 // one of several queues, whose holders may wait in another
		}
		trace.TellQueued(t.q.name, ahead)
	}
	v, why, err := t.sleep(ctx, v)
	trace.TellWoken(t.q.name, why)
	return v, err
}

// sleep is wait that also returns why it ended, "" with an error.
func (t *ticket) sleep(ctx context.Context, v view) (view, lock.Wake, error) {
	c := t.q.c
	var slow <-chan time.Time
	if v.gives && t.own == nil { // else nothing is decided without a look
		if t.waits.IsZero() {
			t.waits = c.clock.Now()
		}
		slow = time.After(c.clock.Until(t.waits.Add(c.guardAfter())))
	}
	var again <-chan time.Time
	if v.again > 0 {
		again = time.After(v.again)
	}
	for {
		select {
		case ev, ok := <-v.wake:
			if v.ticket != nil { // others may wait for the same event
				ev = v.ticket.take(ev, ok)
			}
			if v.gives && t.behind(v.ticket) && v.ticket.gave(c, ev) && !t.disturbed() {
				return view{head: true, token: t.czxid}, lock.WakeGrant, nil
			}
			return view{}, wakeBy(ev), nil
		case <-again:
			return view{}, lock.WakeTime, nil
		case <-t.own:
			t.own = nil
			return view{}, lock.WakeDoubt, nil
		case <-slow:
			own, err := c.watchOwn(t.path(), t.czxid)
			if errors.Is(err, zk.ErrNoNode) {
				return view{gone: true}, lock.WakeDoubt, nil
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

func wakeBy(ev zk.Event) lock.Wake {
	if ev.Type == zk.EventNotWatching || ev.Type == zk.EventSession {
		return lock.WakeDoubt
	}
	return lock.WakeMessage
}

// disturbed reports whether the own ticket's watch has fired: events come in causal order.
func (t *ticket) disturbed() bool {
	if !fired(t.own) {
		return false
	}
	t.own = nil
	return true
}

// guarded starts the guard of a lease whose ticket began to wait at since, or had not to wait if
// since is zero: now if there is a watch, else when the ticket is slow.
func (l *Lease) guarded(own <-chan zk.Event, since time.Time) {
	after := l.q.c.guardAfter()
	switch {
	case own != nil:
		after = 0
	case !since.IsZero():
		after = max(0, after-l.q.c.clock.Since(since))
	}
	l.slow = time.AfterFunc(after, func() { l.q.c.spawn(func() { l.guard(own) }) })
}

func (l *Lease) guard(own <-chan zk.Event) {
	c := l.q.c
	var again pause
	for l.Err() == nil {
		if own == nil {
			w, err := c.watchOwn(l.q.path+"/"+l.node, l.czxid)
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
			if l.state.Load() != stateHeld { // by this client
				return
			}
			own = nil
		case <-l.alive.Done():
		case <-c.open.Done():
			return
		}
	}
}

func (c *Client) lose(l *Lease, cause error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	l.end(cause)
	delete(c.leases, l)
}

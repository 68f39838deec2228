package zklock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"sync"
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
		trace.NotifyQueued(t.q.name, ahead)
	}
	v, why, err := t.sleep(ctx, v)
	trace.NotifyWoken(t.q.name, why)
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
	for l.owned.Err() == nil { // Err also reads the limit, which Lock may be setting
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

// A ticketWatch is a watch on another's ticket, shared by all that wait for it. One of them
// gets its event, and leaves it here: the rest only see the channel closed.
type ticketWatch struct {
	wake   <-chan zk.Event
	sealed bool   // when the watch was set, only its owner could write to it and had not
	held   bool   // it was written to, as by a permit's holder
	czxid  uint64 // of the ticket
	cuts   int    // of the client, before the watch was set

	taken chan struct{} // closed when event is set
	event zk.Event
}

func (w *ticketWatch) take(ev zk.Event, ok bool) zk.Event {
	if ok {
		w.event = ev
		close(w.taken)
	}
	<-w.taken
	return w.event
}

func (w *ticketWatch) fired() bool {
	select {
	case ev, ok := <-w.wake:
		w.take(ev, ok)
		return true
	default:
		return false
	}
}

type ticketWatches struct {
	mu      sync.Mutex
	on      map[string]*ticketWatch
	sweepAt int
}

func (s *ticketWatches) pending(path string) *ticketWatch {
	s.mu.Lock()
	defer s.mu.Unlock()
	if w := s.on[path]; w != nil && !w.fired() {
		return w
	}
	return nil
}

func (s *ticketWatches) add(path string, w *ticketWatch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.on[path] = w
	if len(s.on) > s.sweepAt {
		maps.DeleteFunc(s.on, func(_ string, w *ticketWatch) bool { return w.fired() })
		s.sweepAt = 2*len(s.on) + 16
	}
}

// watchTicket watches the data of the ticket at path, or returns zk.ErrNoNode. Its channel fires
// when the ticket changes or is deleted or the session ends. All waiters share a pending watch:
// withdrawn waiters, which cannot cancel theirs, leave one per node.
func (c *Client) watchTicket(path string) (*ticketWatch, error) {
	if w := c.tickets.pending(path); w != nil {
		return w, nil
	}
	c.pass(beforeWatch)
	cuts := c.now().cuts
	data, stat, wake, err := c.conn.GetW(path)
	if err != nil {
		return nil, err
	}
	c.pass(watchSet)
	_, known := parseTag(data)
	w := &ticketWatch{
		wake:   wake,
		sealed: known && stat.Version == 0,
		held:   stat.Version > 0,
		czxid:  uint64(stat.Czxid),
		cuts:   cuts,
		taken:  make(chan struct{}),
	}
	c.tickets.add(path, w)
	return w, nil
}

// gave reports whether ev is the release of the ticket by its holder.
func (w *ticketWatch) gave(c *Client, ev zk.Event) bool {
	return ev.Type == zk.EventNodeDataChanged && w.sealed && w.cuts == c.now().cuts
}

// fired reports whether a watch has fired. It may take the event, but the library closes the
// channel after it, which wakes the others.
func fired(w <-chan zk.Event) bool {
	select {
	case <-w:
		return true
	default:
		return false
	}
}

// lists are a client's requests for tickets: for each lock one is running, and one more serves
// all callers since. So a thousand waiters do not list a thousand names a thousand times, and
// delay no contacts on the one connection.
type lists struct {
	mu sync.Mutex
	by map[string]*listing // on its way, by path
}

type listing struct {
	done  chan struct{} // closed when the rest is set
	next  *listing      // waits for done, nil if nobody has asked; guarded by lists.mu
	names []string
	stat  *zk.Stat
	err   error
}

// list returns the shared names below path by a request after the call; do not change them.
func (c *Client) list(path string) ([]string, *zk.Stat, error) {
	s := &c.lists
	s.mu.Lock()
	sent := s.by[path]
	if sent != nil && sent.next != nil {
		l := sent.next
		s.mu.Unlock()
		<-l.done
		return l.names, l.stat, l.err
	}
	l := &listing{done: make(chan struct{})}
	if sent != nil {
		sent.next = l
		s.mu.Unlock()
		<-sent.done
	} else {
		s.by[path] = l
		s.mu.Unlock()
	}
	l.names, l.stat, l.err = c.conn.Children(path)
	s.mu.Lock()
	if s.by[path] = l.next; l.next == nil {
		delete(s.by, path)
	}
	s.mu.Unlock()
	close(l.done)
	return l.names, l.stat, l.err
}

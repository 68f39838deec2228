package zklock

import (
	"bytes"
	"maps"
	"sync"

	"github.com/go-zookeeper/zk"
)

// A ticketWatch is a watch on another's ticket, shared by all that wait for it. One of them
// gets its event, and leaves it here: the rest only see the channel closed.
type ticketWatch struct {
	wake   <-chan zk.Event
	sealed bool   // when the watch was set, only its owner could write to it and had not
	held   bool   // it is marked as a permit's holder's, see [heldMark]
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
	if s.on == nil {
		s.on = make(map[string]*ticketWatch)
	}
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
	_, known := parseTag(data)
	w := &ticketWatch{
		wake:   wake,
		sealed: known && stat.Version == 0,
		held:   bytes.Equal(data, heldMark),
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
		if s.by == nil {
			s.by = make(map[string]*listing)
		}
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

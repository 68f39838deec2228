package zklock

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

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

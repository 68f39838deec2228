package zklock

import (
	"sync"

	"github.com/go-zookeeper/zk"
)

// lists are the requests of a client for the tickets of a lock. Of each lock one is on
// its way, and one more serves all that have asked since it was sent. So a thousand
// waiters of one client do not list a thousand names a thousand times, and what proves
// that the session lives does not wait behind such lists on the one connection.
type lists struct {
	mu sync.Mutex
	by map[string]*listing // on its way, by path
}

type listing struct {
	done  chan struct{} // closed when the rest is set
	next  *listing      // waits for done, nil if none has asked; guarded by lists.mu
	names []string
	stat  *zk.Stat
	err   error
}

// list returns the names below path by a request that is sent after the call. Callers
// share them, and must not change them.
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

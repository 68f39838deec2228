package zklock

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-zookeeper/zk"

	"locklab/internal/zksession"
)

// A plain ticket has no part in its name that is its own, so that the one ahead of it is
// known by its number. Numbers begin again when the node of the lock is made again: the
// name of a plain ticket that has gone may be that of another one. So a name says
// nothing of a ticket, and these rules hold:
//
//   - Plain tickets are sealed: a write to one that is not of this client is refused.
//   - A client has one of them at a time in a queue, from before it is made until its
//     owner has left: a write that is not refused is to that one.
//   - Whatever needs no right to write, a delete, a watch, a look into the list, goes by
//     the czxid, which no other node has.

// A history is what a client remembers of a queue. It belongs to the client's plain ticket
// there.
type history struct {
	taken  bool // guarded by histories.mu, and so is gaveUp
	gaveUp bool // the last ticket here left without the lock: for that a name of its own is better
	forecast
	last turn
	node nodeWatch
}

// A turn is a plain ticket of this client by which it held the lock, and which it has
// then removed by a release that was confirmed: when it went no ticket before it was
// left. The zero value is none.
type turn struct {
	number int32
	czxid  uint64
}

// A nodeWatch is a watch on the node of a lock.
type nodeWatch struct {
	fired <-chan zk.Event // nil if there is no watch
	czxid uint64          // of the node
	cuts  int             // of the client, when it was set
}

// pending reports whether the node is still the same, as of the last reply on a
// connection that has not broken up to now. Events come in order with the replies.
func (w *nodeWatch) pending(now moment) bool {
	return w.fired != nil && w.cuts == now.cuts && !fired(w.fired)
}

// mostNodeWatches bounds the watches on the nodes of locks, which a client cannot take
// back.
const mostNodeWatches = 256

// histories are those of a client, by the path and the kind of their tickets.
type histories struct {
	mu      sync.Mutex
	by      map[string]*history
	sweepAt int
	watched int // of those that have set a watch since the last sweep, and those left by it
}

// take returns the history of a queue, nil if a plain ticket of this client is there.
func (s *histories) take(key string) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.by[key]
	switch {
	case l == nil:
		if s.by == nil {
			s.by = make(map[string]*history)
		}
		if len(s.by) >= s.sweepAt {
			s.sweep()
		}
		l = new(history)
		s.by[key] = l
	case l.taken, l.gaveUp:
		return nil
	}
	l.taken = true
	return l
}

func (s *histories) leave(l *history) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l.taken = false
}

// left notes whether a ticket has left as a holder.
func (s *histories) left(key string, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.by[key]; l != nil {
		l.gaveUp = !held
	}
}

// mayWatch reports whether another one may set a watch, and counts it.
func (s *histories) mayWatch() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.watched >= mostNodeWatches {
		s.sweep()
	}
	if s.watched >= mostNodeWatches {
		return false
	}
	s.watched++
	return true
}

// sweep forgets those that are not in use and not watched. The caller holds s.mu.
func (s *histories) sweep() {
	s.watched = 0
	maps.DeleteFunc(s.by, func(_ string, l *history) bool {
		if l.taken || l.node.fired != nil && !fired(l.node.fired) {
			s.watched++
			return false
		}
		return true
	})
	s.sweepAt = 2*len(s.by) + 16
}

// A moment is how many sessions of a client had expired, and how often its connection
// had broken.
type moment struct{ session, cuts int }

func (c *Client) now() moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return moment{c.session, c.cuts}
}

// plainName returns the name of the plain ticket of that kind and number.
func plainName(kind string, number int32) string { return fmt.Sprintf("%s%010d", kind, number) }

// isPlain reports whether name could be that of a plain ticket.
func isPlain(name, kind string) bool {
	_, ok := number(name, kind)
	return ok && strings.HasPrefix(name, kind)
}

// key is where the client's history of the queue is.
func (t *ticket) key() string { return t.q.path + "/" + t.p.kind }

// claim lets the node that is made next be a plain ticket, if that can be.
func (t *ticket) claim() {
	if t.past == nil && !t.unnamed && !t.try {
		t.past = t.q.c.histories.take(t.key())
	}
	t.plain = t.past != nil
}

// free lets another ticket be the plain one. Nothing is asked by the name of this one
// from now on.
func (t *ticket) free() {
	if t.past != nil {
		t.q.c.histories.leave(t.past)
		t.past = nil
	}
}

// nonce is what the data of a ticket has that no other has.
func (t *ticket) nonce() string { return t.unique[len("_c_") : len(t.unique)-len(t.p.kind)-1] }

// data is that of a sealed node.
func (t *ticket) data() []byte {
	tag := t.q.c.tag
	tag.identity += "." + t.nonce()
	return tag.data()
}

// findPlain looks among names for the node of a plain ticket whose making was not
// confirmed: the one with its nonce, if it is of this session, which has lasted since
// then. It begins with the last, and stops at a ticket that was there before. It returns
// zk.ErrNoNode if there is none.
func (t *ticket) findPlain(names []string, since moment) error {
	c := t.q.c
	want, _ := parseTag(t.data())
	for _, p := range slices.Backward(places(names, t.p.kind)) {
		name := p.name
		if !isPlain(name, t.p.kind) {
			continue
		}
		data, stat, err := c.conn.Get(t.q.path + "/" + name)
		switch {
		case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
			continue
		case err != nil:
			return err
		}
		tag, ok := parseTag(data)
		switch {
		case ok && tag.identity == want.identity && stat.EphemeralOwner == c.conn.SessionID():
		case ok && uint64(stat.Czxid) <= t.after:
			return zk.ErrNoNode
		default:
			continue
		}
		if c.now().session != since.session {
			return errOutdated
		}
		t.node, t.session, t.czxid = name, since.session, uint64(stat.Czxid)
		return nil
	}
	return zk.ErrNoNode
}

// removeNode deletes the ticket's node, or returns zk.ErrNoNode if it has gone. It shows
// that the node of a plain ticket is its own, and deletes it on the same connection or
// not at all.
func (t *ticket) removeNode() error {
	c := t.q.c
	if !t.plain {
		return c.conn.Delete(t.path(), -1)
	}
	on := c.conn.Link()
	there, err := c.isNode(t.path(), t.czxid)
	switch {
	case err != nil:
		return err
	case !there:
		return zk.ErrNoNode
	}
	c.pass(nodeFound)
	err = c.conn.DeleteOn(on, t.path())
	if errors.Is(err, zksession.ErrOtherLink) {
		return errOutdated
	}
	return err
}

// isNode reports whether the node at path is the one that was made by that transaction.
// Exists needs no right to read.
func (c *Client) isNode(path string, czxid uint64) (bool, error) {
	there, stat, err := c.conn.Exists(path)
	if err != nil {
		return false, err
	}
	return there && uint64(stat.Czxid) == czxid, nil
}

// watchOwn watches the data of the node at path if it is the one that was made by that
// transaction, 0 if any will do, or returns zk.ErrNoNode.
func (c *Client) watchOwn(path string, czxid uint64) (<-chan zk.Event, error) {
	_, stat, w, err := c.conn.GetW(path)
	switch {
	case czxid == 0:
	case errors.Is(err, zk.ErrNoAuth): // another's, perhaps
		if own, err := c.isNode(path, czxid); err == nil && !own {
			return nil, zk.ErrNoNode
		}
	case err == nil && uint64(stat.Czxid) != czxid:
		return nil, zk.ErrNoNode
	}
	return w, err
}

// short looks at the queue for less than a list, where that can be; else known is false.
// Once for a ticket: what it goes by is what is known since before the ticket was made.
func (t *ticket) short() (v view, known bool, err error) {
	n, _ := number(t.node, t.p.kind)
	if t.past == nil || t.blind || t.listed || n <= 0 || t.q.c.now() != t.at {
		return view{}, false, nil
	}
	first, err := t.follows(n)
	switch {
	case err != nil:
		return view{}, false, err
	case first:
		t.blind = true
		return view{head: true, token: t.czxid}, true, nil
	case !t.past.byName():
		return view{}, false, nil
	}
	w, err := t.q.c.watchTicket(t.q.path + "/" + plainName(t.p.kind, n-1))
	switch {
	case errors.Is(err, zk.ErrNoNode), errors.Is(err, zk.ErrNoAuth):
	case err != nil:
		return view{}, false, fmt.Errorf("zklock: watch ahead of %s: %w", t.path(), err)
	case t.behind(w) && t.q.c.now() == t.at:
		t.forecast(true)
		t.blind = true
		return view{wake: w.wake, ticket: w, gives: true}, true, nil
	}
	t.forecast(false)
	return view{}, false, nil
}

// behind reports whether the ticket that w watches is ahead of t, of this package and
// not written to, so that a write to it is its release. A ticket that is younger than t
// is of another node of the lock, whose numbers began again.
func (t *ticket) behind(w *ticketWatch) bool { return w.sealed && w.czxid < t.czxid }

// forecast notes once whether the ticket ahead was where the number of t says.
func (t *ticket) forecast(asNumbered bool) {
	if t.past != nil && !t.listed {
		t.past.note(asNumbered)
	}
	t.listed = true
}

// follows reports whether ticket n is the first because the one before it in number was
// this client's last: that one had none before it when it went, and the node of the lock
// has been the same since, so that none is between the two.
func (t *ticket) follows(n int32) (bool, error) {
	l, c := t.past, t.q.c
	last := l.last
	l.last = turn{}
	if last.czxid == 0 || last.number+1 != n {
		return false, nil
	}
	if l.node.pending(t.at) {
		return l.node.czxid < last.czxid, nil
	}
	look := c.conn.Exists
	if c.histories.mayWatch() {
		look = func(path string) (bool, *zk.Stat, error) {
			there, stat, fired, err := c.conn.ExistsW(path)
			if err == nil && there {
				l.node = nodeWatch{fired, uint64(stat.Czxid), t.at.cuts}
			}
			return there, stat, err
		}
	}
	there, stat, err := look(t.q.path)
	if err != nil {
		return false, fmt.Errorf("zklock: look at %s: %w", t.q.path, err)
	}
	return there && uint64(stat.Czxid) < last.czxid && c.now() == t.at, nil
}

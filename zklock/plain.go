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

// A plain ticket has no unique part in its name, so its number gives the name of the one ahead.
// Numbers restart when the node of the lock is recreated, so the name of a deleted plain ticket
// may be reused. A name does not identify a ticket, and these rules hold:
//
//   - Plain tickets are sealed: a write to another client's ticket is refused.
//   - A client has at most one of them in a queue, from before its creation until its owner has
//     left: a write that succeeds is to that one.
//   - Operations that need no right to write (delete, watch, a look into the list) use the
//     czxid, which is unique.

// A history is a client's memory of a queue. It belongs to the client's plain ticket there.
type history struct {
	taken  bool // guarded by histories.mu, like gaveUp
	gaveUp bool // the last ticket here left without the lock: then a unique name is better
	forecast
	last turn
	node nodeWatch
}

// A turn is a plain ticket of this client that held the lock and was removed by a confirmed
// release: no ticket before it was left then. The zero value means no turn. On a later connection
// it proves nothing: the servers may have been restored from older data and repeat numbers.
type turn struct {
	number int32
	czxid  uint64
	at     moment // before the request that made it
}

type nodeWatch struct {
	fired <-chan zk.Event // nil without a watch
	czxid uint64          // of the node
	cuts  int             // of the client, when the watch was set
}

// pending reports whether the node is unchanged as of the last reply, on an unbroken
// connection. Events come in order with the replies.
func (w *nodeWatch) pending(now moment) bool {
	return w.fired != nil && w.cuts == now.cuts && !fired(w.fired)
}

// mostNodeWatches bounds the watches on the nodes of locks, which a client cannot cancel.
const mostNodeWatches = 256

type histories struct {
	mu      sync.Mutex
	by      map[string]*history
	sweepAt int
	watched int // histories with a new watch since the last sweep, plus those it kept
}

// take returns the history of a queue, nil if this client has a plain ticket there.
func (s *histories) take(key string) *history {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.by[key]
	switch {
	case l == nil:
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

func (s *histories) left(key string, held bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.by[key]; l != nil {
		l.gaveUp = !held
	}
}

// mayWatch reports whether another history may set a watch, and counts it.
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

// sweep deletes unused histories without a watch. The caller holds s.mu.
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

type moment struct{ session, cuts int }

func (c *Client) now() moment {
	c.mu.Lock()
	defer c.mu.Unlock()
	return moment{c.session, c.cuts}
}

func plainName(kind string, number int32) string { return fmt.Sprintf("%s%010d", kind, number) }

func (t *ticket) key() string { return t.q.path + "/" + t.p.kind }

func (t *ticket) claim() {
	if t.past == nil && !t.unnamed && !t.try {
		t.past = t.q.c.histories.take(t.key())
	}
	t.plain = t.past != nil
}

func (t *ticket) free() {
	if t.past != nil {
		t.q.c.histories.leave(t.past)
		t.past = nil
	}
}

func (t *ticket) nonce() string { return t.unique[len("_c_") : len(t.unique)-len(t.p.kind)-1] }

func (t *ticket) data() []byte {
	tag := t.q.c.tag
	tag.identity += "." + t.nonce()
	return tag.data()
}

// findPlain looks among names for the node of an unconfirmed plain ticket, with its nonce and
// of this session, backwards up to a ticket that existed before, or returns zk.ErrNoNode.
func (t *ticket) findPlain(names []string, since moment) error {
	c := t.q.c
	want, _ := parseTag(t.data())
	for _, p := range slices.Backward(places(names, t.p.kind)) {
		name := p.Name
		if !strings.HasPrefix(name, t.p.kind) {
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

// removeNode deletes the ticket's node, or returns zk.ErrNoNode. For a plain ticket it first
// verifies that the node is its own, and deletes it only on the same connection.
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

// isNode: Exists needs no right to read.
func (c *Client) isNode(path string, czxid uint64) (bool, error) {
	there, stat, err := c.conn.Exists(path)
	if err != nil {
		return false, err
	}
	return there && uint64(stat.Czxid) == czxid, nil
}

// watchOwn watches the node at path if it has that czxid (0: any), or returns zk.ErrNoNode.
func (c *Client) watchOwn(path string, czxid uint64) (<-chan zk.Event, error) {
	_, stat, w, err := c.conn.GetW(path)
	switch {
	case czxid == 0:
	case errors.Is(err, zk.ErrNoAuth): // perhaps another's
		if own, err := c.isNode(path, czxid); err == nil && !own {
			return nil, zk.ErrNoNode
		}
	case err == nil && uint64(stat.Czxid) != czxid:
		return nil, zk.ErrNoNode
	}
	return w, err
}

// short looks at the queue without a list, once per ticket, if state from before it allows.
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
// unwritten. A younger ticket belongs to another node of the lock, whose numbers restarted.
func (t *ticket) behind(w *ticketWatch) bool { return w.sealed && w.czxid < t.czxid }

func (t *ticket) forecast(asNumbered bool) {
	if t.past != nil && !t.listed {
		t.past.note(asNumbered)
	}
	t.listed = true
}

// follows reports whether ticket n is first because the previous number was this client's last
// turn, which had no ticket before it, below the same node.
func (t *ticket) follows(n int32) (bool, error) {
	l, c := t.past, t.q.c
	last := l.last
	l.last = turn{}
	if last.at != t.at || last.czxid == 0 || last.number+1 != n {
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

// A forecast predicts from earlier tickets whether the ticket ahead has the previous number:
// asking for it by name then saves a request, and else costs one. The zero value lists.
type forecast struct {
	right int // consecutive correct predictions
	need  int // how many are needed to ask by name, at least one
}

const mostNeeded = 32

func (f *forecast) byName() bool { return f.right >= max(1, f.need) }

// note records whether the prediction was right. The savings since it began to ask by name must
// pay for a mistake; otherwise it needs more next time.
func (f *forecast) note(asNumbered bool) {
	if asNumbered {
		f.right++
		return
	}
	if f.byName() {
		if saved := f.right - max(1, f.need); saved < 2 {
			f.need = min(2*max(1, f.need), mostNeeded)
		} else {
			f.need /= 2
		}
	}
	f.right = 0
}

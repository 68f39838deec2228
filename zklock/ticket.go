package zklock

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/go-zookeeper/zk"
)

// A ticket is one place in the queue: an ephemeral sequential node below the path of the lock,
// or the intention to make one.
type ticket struct {
	q       *queue
	p       *protocol
	unique  string // unique start of the node's name
	node    string // the node's name, "" if none is known
	session int    // the client's session that owns the node
	at      moment // before the request that made the node
	after   uint64 // a zxid that the client had seen before: the node has a greater one
	doubt   bool   // a create was not answered: an unknown node may exist
	sealed  bool   // no other client can write to the node; for some protocols
	czxid   uint64 // of the node, 0 if unknown; for some protocols

	begin func(l *Lease) error // if not nil, completes the lease before anyone can end it

	ticketWait
	plainTicket
}

// A ticketWait is the wait of a ticket's owner in the queue.
type ticketWait struct {
	try    bool // it does not wait
	queued bool // its wait has been reported
	place  int  // waiters ahead as of the last look, -1 if unknown

	// For some protocols only.
	own    <-chan zk.Event // a watch on the node, if it is slow
	waits  time.Time       // since when its event may be the lock
	lent   func() bool     // reports that another ticket may hold the lock by this one and continue without it
	near   bool            // it has waited and is near the head: the next look watches the list
	onList <-chan zk.Event // the watch on the list, nil before the first
}

// A plainTicket is the state of a ticket whose name may have no unique part, see plain.go.
type plainTicket struct {
	past    *history // not nil from before a plain node is made until the owner has left
	plain   bool     // the node's name has no unique part
	unnamed bool     // the node must not be plain
	blind   bool     // no list has shown the node: the lock depends on an unbroken connection since at
	listed  bool     // the queue was listed, or will be
}

func newTicket(q *queue, p *protocol) *ticket {
	return &ticket{q: q, p: p, unique: newUnique(p.kind),
		ticketWait: ticketWait{place: -1}, plainTicket: plainTicket{unnamed: q.o.Checkable}}
}

func (t *ticket) anew() {
	t.free()
	queued, try, unnamed, begin, lent := t.queued, t.try, t.unnamed, t.begin, t.lent
	*t = *newTicket(t.q, t.p)
	t.queued, t.try, t.unnamed, t.begin, t.lent = queued, try, unnamed, begin, lent
}

// newUnique returns the start of a ticket's name, like Curator's protected nodes
// (CreateBuilder.withProtection).
func newUnique(kind string) string {
	var guid [16]byte
	rand.Read(guid[:]) // never fails
	return fmt.Sprintf("_c_%x-%s", guid, kind)
}

func (t *ticket) path() string { return t.q.path + "/" + t.node }

// lock takes a place in the queue and waits there for the lock. If try is set, it leaves at once
// unless it is first. It keeps a place only if it returns a lease.
func (t *ticket) lock(ctx context.Context, try bool) (*Lease, error) {
	if err := checkPath(t.q.path); err != nil {
		return nil, err
	}
	if !t.q.c.waiting(t) {
		return nil, ErrClosed
	}
	defer t.q.c.line.Done()
	defer t.q.c.gone(t)
	t.try = try
	var again pause
	for renews := 0; ; {
		l, err := t.attempt(ctx, try)
		if err == nil {
			return l, nil
		}
		if transient(err) {
			err = again.wait(ctx, t.q.c)
			if err == nil {
				continue
			}
		}
		_, lost := t.withdraw()
		if lost != nil && !errors.Is(lost, ErrClosed) {
			err = fmt.Errorf("%w (and its ticket stays for now: %w)", err, lost)
		}
		if errors.Is(err, ErrExhausted) && lost == nil && renews < mostRenews {
			if err = t.q.renew(ctx, try); err == nil {
				renews++
				t.anew()
				continue
			}
		}
		return nil, explained(err)
	}
}

// attempt is lock up to the first failed request. A repeated call continues.
func (t *ticket) attempt(ctx context.Context, try bool) (*Lease, error) {
	var v view
	for {
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case t.q.c.open.Err() != nil:
			return nil, ErrClosed
		}
		var err error
		if v == (view{}) {
			if err = t.enter(); err == nil {
				v, err = t.p.look(t)
			}
		}
		if err != nil {
			return nil, err
		}
		switch {
		case v.gone:
			t.anew()
			v = view{}
			continue
		case v.head && t.disturbed():
			v = view{} // the view may be outdated
			continue
		case v.head:
			if err := t.q.c.checkTerm(); err != nil {
				return nil, err // it would be repeated forever
			}
			if err := t.q.c.assure(ctx); err != nil {
				return nil, err
			}
			l := &Lease{q: t.q, node: t.node, czxid: t.czxid, token: v.token, check: t.check(), free: t.release}
			return l, t.q.c.grant(l, t)
		case try:
			return nil, busy(t.q.name)
		case t.session != t.q.c.now().session:
			v = view{} // the watch belongs to the next session, and the ticket is gone
			continue
		}
		if v, err = t.wait(ctx, v); err != nil {
			return nil, err
		}
	}
}

// enter makes sure that the ticket has a node, whose number may hold the lock.
func (t *ticket) enter() error {
	if t.doubt {
		if err := t.find(); err != nil {
			return err
		}
	}
	if t.node != "" && t.session != t.q.c.now().session {
		t.anew() // the node went with its session
	}
	if t.node == "" {
		if err := t.make(); err != nil {
			return err
		}
	}
	return t.exhausted()
}

func createEphemeral(t *ticket) (path string, err error) {
	return t.create(t.unique, zk.FlagEphemeralSequential)
}

func (t *ticket) create(name string, flags int32) (path string, err error) {
	c := t.q.c
	return c.conn.Create(t.q.path+"/"+name, c.tag.nameData(), flags, c.acl)
}

// make makes the ticket's node, and missing parents before.
func (t *ticket) make() error {
	send := func() (string, error) {
		t.at, t.after = t.q.c.now(), t.q.c.conn.Zxid()
		return t.p.create(t)
	}
	path, err := send()
	for tries := 0; errors.Is(err, zk.ErrNoNode) && tries < 10; tries++ {
		// Others may remove an empty parent between the two requests.
		if err := t.q.makeNode(t.q.path); err != nil {
			return err
		}
		path, err = send()
	}
	if err != nil {
		t.doubt = transient(err)
		return fmt.Errorf("zklock: queue at %s: %w", t.q.path, err)
	}
	t.q.c.pass(ticketMade)
	// Read after the reply: the node is this session's or an ended one's, which the next look
	// does not show. So a look must follow; a plain ticket's shows only a name, and suffices
	// in the request's session.
	session := t.q.c.now().session
	if t.plain && (session != t.at.session || t.czxid == 0) {
		t.doubt = true
		return errOutdated
	}
	t.session = session
	t.node = path[strings.LastIndexByte(path, '/')+1:]
	return nil
}

// find determines whether a create with a lost reply took effect.
func (t *ticket) find() error {
	if err := t.findNode(); err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("zklock: look for own ticket at %s: %w", t.q.path, err)
	}
	t.doubt = false
	return nil
}

func (t *ticket) findNode() error {
	c := t.q.c
	since := c.now()
	t.listed = true // earlier knowledge is useless
	// The connection may lead to another server now, which may lag behind.
	if _, err := c.conn.Sync(t.q.path); err != nil {
		return err
	}
	names, _, err := c.list(t.q.path)
	switch {
	case err != nil:
		return err
	case t.plain:
		return t.findPlain(names, since)
	}
	for _, name := range names {
		if strings.HasPrefix(name, t.unique) {
			t.node, t.session = name, c.now().session // read after the reply, as in enter
		}
	}
	return nil
}

// withdraw removes the ticket's node, through lost connections, until it is gone, its session
// has ended or the client is closed. removed is true if it existed until now.
func (t *ticket) withdraw() (removed bool, err error) {
	if t.plain {
		t.q.c.histories.left(t.key(), false)
	}
	return t.leave((*ticket).removeNode)
}

func (t *ticket) release() (held bool, err error) {
	if n, _ := number(t.node, t.p.kind); n >= renewFrom {
		defer t.q.renewAfter(n)
	}
	if t.p.remove == nil {
		return t.withdraw()
	}
	return t.leave(t.p.remove)
}

// errRefused is in the error for a ticket that the servers refuse to delete.
var errRefused = errors.New("the servers refuse to delete its ticket; still trying")

// leave is withdraw by remove. After an error the ticket stays, and removeLater continues, unless the client is closed.
func (t *ticket) leave(remove func(t *ticket) error) (removed bool, err error) {
	defer func() {
		t.node = "" // its name is not used any more
		t.free()
	}()
	removed, err = t.removed(remove, 5)
	if err != nil {
		t.removeLater()
	}
	return removed, err
}

// removeLater removes the detached ticket's node in the background, once the servers allow it.
func (t *ticket) removeLater() {
	rest, c := *t, t.q.c
	t.past = nil // its node is still there
	c.mu.Lock()
	c.contacts.waits[&rest] = false
	c.mu.Unlock()
	c.spawn(func() {
		defer rest.free()
		if _, err := rest.removed((*ticket).removeNode, math.MaxInt); err == nil {
			c.gone(&rest)
		}
	})
}

func (t *ticket) removed(remove func(t *ticket) error, most int) (removed bool, err error) {
	c := t.q.c
	var again pause
	for refused := 0; ; {
		err := c.live.Err()
		switch {
		case !t.doubt && (t.node == "" || t.session != c.now().session):
			return false, nil
		case err != nil:
			return false, ErrClosed // the node goes with the session
		case t.doubt:
			err = t.find()
		default:
			err = remove(t)
			if errors.Is(err, zk.ErrNoNode) {
				return false, nil // if the reply to a request before was lost, that may have removed it, or another client
			}
			if err == nil {
				return true, nil
			}
		}
		if err == nil {
			continue // find has ended the doubt
		}
		if refused++; !transient(err) && refused >= most {
			return false, fmt.Errorf("zklock: withdraw from %s: %w: %w", t.q.path, errRefused, err)
		}
		if err := again.until(c.live, c, c.live); err != nil {
			return false, ErrClosed
		}
	}
}

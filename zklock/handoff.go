package zklock

import (
	"errors"
	"fmt"
	"sync"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// handoff is the queue of [fair] whose holder hands the lock to the next: the
// watch event by which a waiter hears of a release is also the lock. Who is
// alone takes it with the request that queues.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node that holds a marker and that
//     nobody else can write to (its ACL names an identity of this client). If
//     the last acquisition met nobody, one multi makes it and writes the data
//     of its parent back, unchanged, by its version: the reply's numChildren is
//     1 if there is nobody else, and then the lock is held.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Watch the data of the next lower ticket. If it is gone go to 2, or hold
//     the lock if there was no other.
//  4. The watch fires. NodeDataChanged, where 3 has shown the marker and
//     version 0 and the connection has not broken since: the lock is held. In
//     every other case go to 2.
//  5. To release, one multi writes to the own ticket and deletes it. Who gives
//     up waiting deletes it only.
//
// The watch fires once, for the write, and the deletion is in the same
// transaction. Only the holder runs that multi; nobody else can write; a crash,
// an expiry, a withdrawal and a deletion by hand all show as NodeDeleted, as
// does, after a reconnect, a release that was missed. And numbers only grow, so
// nobody has come between two neighbours. docs/decisions/0006-zk-handoff.md has
// the argument in full, and models/handoff.pml every interleaving of it.
//
// Two requests for acquire and release alone; four and one watch event behind
// others, whatever their number, of which none is between the release and the
// next holder. Clients who come in turn without meeting need three.
//
// The token is the czxid of the own ticket, which rises in the order of
// holding, where a reply shows it (to the multi of 1, it is the parent's
// mzxid); else one more than the greatest czxid of the tickets that were
// waited for. Every holder before had one of those or an older one, and no
// token is greater than the czxid of its ticket: so both kinds rise together.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks, has the queue, as
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4. The hand-over by the event is
// in neither; no earlier description of it is known.
var handoffVariant = &harness.Variant{
	Name:   "zk-handoff",
	Doc:    "queue of ephemeral tickets, the event of the release is the next one's lock",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Family: harness.ZooKeeper,
	Status: harness.Recommended, Complexity: harness.Queued,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(nil), // what Client.Mutex gives
}

// marker is the data of a ticket that only its client can write to, and which
// it writes to when, and only when, it releases the lock.
const marker = "zklock: sealed until it is released"

// handoff is what a Mutex, or a RW, knows of its queue from one acquisition to the next.
type handoff struct {
	mu     sync.Mutex
	alone  bool        // the last acquisition met nobody
	number int32       // of the last ticket
	parent *parentData // nil if it has to be read
	denied bool        // the parent is not ours to write to
}

// parentData is the data of the node of the lock.
type parentData struct {
	data    []byte
	version int32
}

// newHandoff returns the protocol of one Mutex.
func newHandoff() *protocol {
	h := &handoff{alone: true, number: -1}
	return &protocol{kind: "lock-", enter: h.enter, look: h.look, remove: removeHandoff}
}

func (h *handoff) enter(t *ticket) (view, error) {
	if parent, try := h.tryAlone(); try {
		v, err := h.enterAlone(t, parent)
		if err == nil || transient(err) {
			return v, err
		}
	}
	return view{}, t.made(func() (string, error) {
		node, err := t.sealedNode()
		if err != nil {
			return "", err
		}
		return t.q.c.conn.Create(node.Path, node.Data, node.Flags, node.Acl)
	})
}

// sealedNode returns what makes the ticket's node, sealed if that can be and
// its holder hands over.
func (t *ticket) sealedNode() (*zk.CreateRequest, error) {
	c := t.q.c
	node := &zk.CreateRequest{Path: t.q.path + "/" + t.unique, Acl: c.acl, Flags: zk.FlagEphemeralSequential}
	if t.p.remove == nil {
		return node, nil
	}
	acl, err := c.sealedACL(t.q.path)
	if err != nil {
		return nil, err
	}
	if t.sealed = acl != nil; t.sealed {
		node.Acl, node.Data = acl, []byte(marker)
	}
	return node, nil
}

// enterAlone makes the ticket in the hope that there is no other.
func (h *handoff) enterAlone(t *ticket, parent *parentData) (view, error) {
	c := t.q.c
	var stat *zk.Stat
	err := t.made(func() (string, error) {
		node, err := t.sealedNode()
		if err != nil {
			return "", err
		}
		if parent == nil {
			data, stat, err := c.conn.Get(t.q.path)
			if err != nil {
				return "", err
			}
			parent = &parentData{data, stat.Version}
		}
		r, err := c.conn.Multi(node, &zk.SetDataRequest{Path: t.q.path, Data: parent.data, Version: parent.version})
		if err != nil {
			parent = nil
			return "", err
		}
		stat = r[1].Stat
		parent = &parentData{parent.data, stat.Version}
		return r[0].String, nil
	})
	if err != nil {
		h.failed(err)
		return view{}, err
	}
	t.czxid = uint64(stat.Mzxid)
	h.wrote(parent)
	if stat.NumChildren > 1 { // foreign ones may be among them
		return view{}, nil
	}
	h.looked(t, true)
	return view{head: true, token: t.czxid}, nil
}

// tryAlone reports whether to enter by [handoff.enterAlone], and with what.
func (h *handoff) tryAlone() (*parentData, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.parent, h.alone && !h.denied
}

func (h *handoff) failed(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parent = nil
	h.denied = h.denied || errors.Is(err, zk.ErrNoAuth)
}

func (h *handoff) wrote(p *parentData) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.parent = p
}

// looked takes note of the first look at the queue with t.
func (h *handoff) looked(t *ticket, alone bool) {
	if t.looked {
		return
	}
	t.looked = true
	number, _ := number(t.node, t.p.kind)
	h.mu.Lock()
	defer h.mu.Unlock()
	if number != h.number+1 {
		h.parent = nil // others have come since, and written to it
	}
	h.number, h.alone = number, alone
}

func (h *handoff) look(t *ticket) (view, error) {
	c := t.q.c
	for {
		names, _, err := c.conn.Children(t.q.path)
		if errors.Is(err, zk.ErrNoNode) {
			return view{gone: true}, nil
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
		}
		ahead, present := t.ahead(names)
		if !present {
			return view{gone: true}, nil
		}
		h.looked(t, ahead == "")
		if ahead == "" {
			return t.first()
		}
		w, err := c.watchTicket(t.q.path + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			if t.countAhead(names) == 1 { // nobody comes between
				return t.first()
			}
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead, err)
		}
		t.behind = max(t.behind, w.czxid)
		return view{wake: w.wake, ticket: w, gives: true}, nil
	}
}

// countAhead returns how many tickets are ahead of t.
func (t *ticket) countAhead(names []string) (count int) {
	own, _ := number(t.node, t.p.kind)
	for _, name := range names {
		if n, ok := number(name, t.p.kind); ok && before(n, own) {
			count++
		}
	}
	return count
}

// first returns the view of the first ticket.
func (t *ticket) first() (view, error) {
	if there, err := t.born(); !there {
		return view{gone: err == nil}, err
	}
	return view{head: true, token: t.fence()}, nil
}

// born makes sure that fence can tell, and reports whether the ticket is there.
func (t *ticket) born() (there bool, err error) {
	if t.czxid != 0 || t.behind != 0 {
		return true, nil
	}
	there, stat, err := t.q.c.conn.Exists(t.path())
	if err != nil {
		return false, fmt.Errorf("zklock: look at own ticket %s: %w", t.path(), err)
	}
	if there {
		t.czxid = uint64(stat.Czxid)
	}
	return there, nil
}

// fence returns the fencing token of a ticket that is, or comes to be, first.
func (t *ticket) fence() uint64 {
	if t.czxid != 0 {
		return t.czxid
	}
	return t.behind + 1
}

// removeHandoff is the release that the next one hears of as NodeDataChanged.
func removeHandoff(t *ticket) error {
	c := t.q.c
	if !t.sealed || t.shared {
		return c.conn.Delete(t.path(), -1)
	}
	_, err := c.conn.Multi(
		&zk.SetDataRequest{Path: t.path(), Version: -1},
		&zk.DeleteRequest{Path: t.path(), Version: -1},
	)
	if errors.Is(err, zk.ErrNoAuth) {
		c.unseal()
		return c.conn.Delete(t.path(), -1)
	}
	return err
}

package zklock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// handoffQueue is the protocol of every Mutex: the queue of [recipe.Fair] whose holder hands the lock to the next: the
// watch event by which a waiter hears of a release is also the lock.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node lock-<number> that holds a marker and
//     that no other client can write to (its ACL names an identity of this client).
//  2. If the number before was this client's last holder, the lock is held. Else watch
//     the data of the ticket with the number before, and go to 5.
//  3. If it is not there, or not one of these, list the tickets. The owner of the lowest
//     holds the lock.
//  4. Watch the data of the next lower ticket. If it is gone go to 3, or hold
//     the lock if there was no other.
//  5. The watch fires. NodeDataChanged, where the marker and version 0 were there and
//     the connection has not broken since: the lock is held. In every other case go to 3.
//  6. To release, one multi writes to the own ticket and deletes it. One that gives
//     up waiting deletes it only.
//
// The watch fires once, for the write, and the deletion is in the same
// transaction. Only the holder runs that multi; no other can write; a crash,
// an expiry, a withdrawal and a deletion by hand all show as NodeDeleted, as
// does, after a reconnect, a release that was missed. And numbers only grow, so
// no ticket has come between two neighbours. docs/decisions/0006-zk-handoff.md has
// the argument in full, and models/handoff.pml every interleaving of it.
//
// A ticket has no name of its own then, and numbers begin again with the node of the lock:
// plain.go and models/plain.pml have what follows from that. Where the next ticket is not
// where its number says, as where locks of other libraries have the path, 2 is left out.
//
// Two requests for acquire and release alone, three where others come and go in between,
// and three and one watch event behind others, whatever their number, of which none is
// between the release and the next holder. Nothing is written but tickets.
//
// The token is the czxid of the own ticket, which rises in the order of
// holding. The header of the reply to 1 has it.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks, has the queue, as
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4. The hand-over by the event is
// in neither; no earlier description of it is known.
var handoffQueue = &protocol{kind: "lock-", enter: enterHandoff, look: lookHandoff, remove: removeHandoff}

// enterHandoff makes the ticket's node, sealed if that can be and its holder hands
// over.
func enterHandoff(t *ticket) (view, error) {
	c := t.q.c
	return view{}, t.made(func() (path string, err error) {
		acl, data := c.acl, c.tag.nameData()
		if t.p.remove != nil {
			sealed, err := c.sealedACL(t.q.path)
			if err != nil {
				return "", err
			}
			if t.sealed = sealed != nil; t.sealed {
				acl, data = sealed, t.data()
				t.claim()
			} else {
				t.free()
				t.plain = false
			}
		}
		if t.plain {
			path, t.czxid, err = c.conn.CreateZxid(t.q.path+"/"+t.p.kind, data, zk.FlagEphemeralSequential, acl)
			if !errors.Is(err, zk.ErrNodeExists) { // numbers have begun again before that one has gone
				return path, err
			}
			t.free()
			t.unnamed, t.plain = true, false
		}
		path, t.czxid, err = c.conn.CreateZxid(t.q.path+"/"+t.unique, data, zk.FlagEphemeralSequential, acl)
		return path, err
	})
}

func lookHandoff(t *ticket) (view, error) {
	c := t.q.c
	if there, err := t.born(); !there {
		return view{gone: err == nil}, err
	}
	if v, known, err := t.short(); known || err != nil {
		return v, err
	}
	for {
		names, stat, err := c.list(t.q.path)
		if errors.Is(err, zk.ErrNoNode) {
			return view{gone: true}, nil
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
		}
		ahead, present := t.ahead(names)
		if !present || t.before(stat) {
			return view{gone: true}, nil
		}
		t.blind = false
		if ahead == "" {
			t.forecast(false)
			return view{head: true, token: t.czxid}, nil
		}
		w, err := c.watchTicket(t.q.path + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			if t.countAhead(names) == 1 { // none comes between
				return view{head: true, token: t.czxid}, nil
			}
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead, err)
		}
		if t.session != c.sessions() {
			return view{gone: true}, nil // the watch is of the next session
		}
		own, _ := number(t.node, t.p.kind)
		t.forecast(t.behind(w) && ahead == plainName(t.p.kind, own-1))
		return view{wake: w.wake, ticket: w, gives: true}, nil
	}
}

// before reports whether the ticket is older than the node of the lock, as a list has
// shown it, and has gone with the one before: a plain name in the list is another's then.
func (t *ticket) before(lock *zk.Stat) bool { return uint64(lock.Czxid) > t.czxid }

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

// born makes sure that the ticket's czxid is known, which it is but for a lost
// reply, and reports whether the ticket is there.
func (t *ticket) born() (there bool, err error) {
	if t.czxid != 0 {
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

// removeHandoff is the release that the next one hears of as NodeDataChanged.
func removeHandoff(t *ticket) error {
	c := t.q.c
	if !t.sealed || t.shared {
		return t.removeNode()
	}
	_, err := c.conn.Multi(
		&zk.SetDataRequest{Path: t.path(), Version: -1},
		&zk.DeleteRequest{Path: t.path(), Version: -1},
	)
	switch {
	case err == nil:
		c.histories.left(t.key(), true)
		if n, _ := number(t.node, t.p.kind); t.past != nil {
			t.past.last = turn{n, t.czxid}
		}
	case errors.Is(err, zk.ErrNoAuth): // a plain ticket is another's, unless removeNode finds that it is not
		if err = t.removeNode(); err == nil {
			c.unseal()
		}
	}
	return err
}

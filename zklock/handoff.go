package zklock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// handoffQueue is the protocol of every Mutex: the queue of [recipe.Fair] whose holder hands the lock to the next: the
// watch event by which a waiter hears of a release is also the lock.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node that holds a marker and that
//     no other client can write to (its ACL names an identity of this client).
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Watch the data of the next lower ticket. If it is gone go to 2, or hold
//     the lock if there was no other.
//  4. The watch fires. NodeDataChanged, where 3 has shown the marker and
//     version 0 and the connection has not broken since: the lock is held. In
//     every other case go to 2.
//  5. To release, one multi writes to the own ticket and deletes it. One that gives
//     up waiting deletes it only.
//
// The watch fires once, for the write, and the deletion is in the same
// transaction. Only the holder runs that multi; no other can write; a crash,
// an expiry, a withdrawal and a deletion by hand all show as NodeDeleted, as
// does, after a reconnect, a release that was missed. And numbers only grow, so
// no ticket has come between two neighbours. docs/decisions/0006-zk-handoff.md has
// the argument in full, and models/handoff.pml every interleaving of it.
//
// Three requests for acquire and release alone, of which two write; four and one
// watch event behind others, whatever their number, of which none is between the
// release and the next holder. Nothing is written but tickets.
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
		var data []byte
		acl := c.acl
		if t.p.remove != nil {
			sealed, err := c.sealedACL(t.q.path)
			if err != nil {
				return "", err
			}
			if t.sealed = sealed != nil; t.sealed {
				acl, data = sealed, c.tag.data()
			}
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
		if ahead == "" {
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

package zklock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/zklock/internal/recipe"
)

// handoffQueue is the protocol of every Mutex: the queue of [recipe.Fair], but a holder hands
// the lock to the next. The watch event of its release is also the lock.
//
//  1. Make a ticket, an EPHEMERAL_SEQUENTIAL node lock-<number> with a marker, which no other
//     client can write to (its ACL names an identity of this client).
//  2. If the previous number was this client's last holder, the lock is held. Else watch the
//     data of the ticket with the previous number, and go to 5.
//  3. If it does not exist or is not a sealed ticket, list the tickets. The owner of the
//     lowest holds the lock.
//  4. Watch the data of the next lower ticket. If it is gone, go to 3, or hold the lock if
//     there was no other.
//  5. The watch fires. If it is NodeDataChanged, the ticket had the marker and version 0, and
//     the connection has not broken since, the lock is held. Otherwise go to 3.
//  6. To release, one multi writes to the own ticket and deletes it. A waiter that gives up
//     only deletes it.
//
// The watch fires once, for the write, and the deletion is in the same transaction. Only the
// holder runs that multi, and nobody else can write. A crash, an expiry, a withdrawal and a
// deletion by hand all show as NodeDeleted; so does a release that was missed, after a
// reconnect. Numbers only grow, so no ticket comes between two neighbours.
// docs/decisions/0006-zk-handoff.md has the full argument, and models/handoff.pml checks every
// interleaving.
//
// Such a ticket has no unique name, and numbers restart with the node of the lock: see
// plain.go and models/plain.pml. Step 2 is skipped if numbers do not predict the next ticket.
//
// Acquire and release take two requests alone, and three if others come and go in between.
// Behind others they take three and one watch event, whatever their number, with no request
// between the release and the next holder.
//
// The token is the czxid of the own ticket, which rises in the order of holding. The header of
// the reply to 1 has it.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks, and Hunt, Konar, Junqueira,
// Reed, "ZooKeeper: Wait-free coordination for internet-scale systems", USENIX ATC 2010, §2.4,
// have the queue. The handover by the event is in neither; we know of no earlier description.
var handoffQueue = &protocol{kind: "lock-", enter: enterHandoff, remove: removeHandoff,
	look: func(t *ticket) (view, error) { return lookHandoff(t, recipe.Nearest, true, "lock-") }}

// enterHandoff makes the ticket's node, sealed if possible and if its holder hands over.
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
			if !errors.Is(err, zk.ErrNodeExists) { // numbers restarted while an old ticket was left
				return path, err
			}
			t.free()
			t.unnamed, t.plain = true, false
		}
		path, t.czxid, err = c.conn.CreateZxid(t.q.path+"/"+t.unique, data, zk.FlagEphemeralSequential, acl)
		return path, err
	})
}

// lookHandoff looks at the line of these kinds. The owner of the i-th ticket waits for the one
// that obstacle returns, or holds the lock if that is -1. A sole ticket ahead may be gone: alone
// means that no other can have come between it and t.
func lookHandoff(t *ticket, obstacle func(line []recipe.Place, i int) int, alone bool, kinds ...string) (view, error) {
	c := t.q.c
	if there, err := t.born(); !there {
		return view{gone: err == nil}, err
	}
	if v, known, err := t.short(); known || err != nil {
		return v, err
	}
	for {
		line, i, stat, err := t.line(kinds...)
		if i < 0 || t.before(stat) {
			return view{gone: err == nil}, err
		}
		t.blind = false
		k := obstacle(line, i)
		if k < 0 {
			t.forecast(false)
			return view{head: true, token: t.czxid}, nil
		}
		ahead := line[k]
		t.place = i - held(line)
		w, err := c.watchTicket(t.q.path + "/" + ahead.Name)
		if errors.Is(err, zk.ErrNoNode) {
			if alone && i == 1 {
				return view{head: true, token: t.czxid}, nil
			}
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead.Name, err)
		}
		if t.session != c.now().session {
			return view{gone: true}, nil // the watch belongs to the next session
		}
		gives := ahead.Kind != readKind
		t.forecast(gives && t.behind(w) && ahead.Name == plainName(ahead.Kind, line[i].Number-1))
		return view{wake: w.wake, ticket: w, gives: gives}, nil
	}
}

// before reports whether the ticket is older than the node of the lock and was deleted with the
// node before. A plain name in the list then belongs to another ticket.
func (t *ticket) before(lock *zk.Stat) bool { return uint64(lock.Czxid) > t.czxid }

// born makes sure that the ticket's czxid is known, and reports whether the ticket exists.
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

// removeHandoff is the release that the next one receives as NodeDataChanged.
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
	case errors.Is(err, zk.ErrNoAuth): // a plain ticket is another's, unless removeNode finds otherwise
		if err = t.removeNode(); err == nil {
			c.unseal()
		}
	}
	return err
}

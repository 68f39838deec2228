package zklock

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// writeLock is the protocol of Apache's own recipe, org.apache.zookeeper.recipes.lock,
// with its two errors mended. (With them it is [writeLockHistorical].)
//
//  1. Make sure that the parent exists.
//  2. List the tickets and adopt the own one, if there is one from a create
//     whose reply was lost; else create one.
//  3. List the tickets. The owner of the lowest holds the lock.
//  4. Ask whether the next lower one exists, and watch it. If it is gone
//     already go to 3: the recipe waits for it all the same, for ever.
//  5. When the watch fires go to 3.
//
// Tickets have names that are unique to an acquisition: the recipe's are unique
// to a session, and two locks of one session take each other's for their own.
//
// Steps 1 and 2 cost two requests in every acquisition, which [fair] saves by
// doing them only after a failure: five requests alone, seven behind others. A
// watch set by exists on a ticket that has gone stays until the client is
// closed.
//
// # References
//
// Apache ZooKeeper 3.9, zookeeper-recipes-lock, WriteLock.java.
var writeLock = &harness.Variant{
	Name:   "zk-writelock",
	Doc:    "Apache's recipe, mended: looks for its parent and for a ticket of its own in every acquisition",
	Paper:  "zookeeper-recipes-lock",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(writeLockQueue),
}

var writeLockQueue = &protocol{kind: "lock-", enter: enterWriteLock, look: lookExists}

func enterWriteLock(t *ticket) (view, error) {
	c := t.q.c
	exists, _, err := c.conn.Exists(t.q.path)
	if err == nil && !exists {
		err = t.q.makeParents()
	}
	if err != nil {
		return view{}, fmt.Errorf("zklock: queue at %s: %w", t.q.path, err)
	}
	names, _, err := c.conn.Children(t.q.path)
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return view{}, fmt.Errorf("zklock: look for own ticket at %s: %w", t.q.path, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, t.unique) {
			t.node, t.session = name, c.sessions() // read after the reply, as in made
			return view{}, nil
		}
	}
	return view{}, t.create()
}

// lookExists is lookFair with exists in the place of getData.
func lookExists(t *ticket) (view, error) {
	c := t.q.c
	for {
		names, stat, err := c.conn.Children(t.q.path)
		if errors.Is(err, zk.ErrNoNode) {
			return view{gone: true}, nil
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
		}
		ahead, present := t.ahead(names)
		if !present || ahead == "" {
			return view{gone: !present, head: present, token: uint64(stat.Pzxid)}, nil
		}
		exists, _, wake, err := c.conn.ExistsW(t.q.path + "/" + ahead)
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead, err)
		}
		if exists {
			return view{wake: wake}, nil
		}
	}
}

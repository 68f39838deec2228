package lab

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// writeLock is the protocol of Apache's own recipe, org.apache.zookeeper.recipes.lock, with its
// two faults fixed. [writeLockHistorical] is the original.
//
//  1. Make sure that the parent exists.
//  2. List the tickets and adopt the own one if a create with a lost reply made it; else create
//     one.
//  3. List the tickets. The owner of the lowest holds the lock.
//  4. Check whether the next lower one exists, and watch it. If it is gone already, go to 3: the
//     original waits for it forever.
//  5. When the watch fires, go to 3.
//
// Tickets have names that are unique to an acquisition: the original's are unique to a session,
// and two locks of one session mistake each other's for their own.
//
// Steps 1 and 2 cost two requests in every acquisition, which [fair] saves by doing them only
// after a failure: five requests alone, seven behind others. An exists watch on a missing ticket
// stays until the client is closed.
//
// # References
//
// Apache ZooKeeper 3.9, zookeeper-recipes-lock, WriteLock.java.
var writeLock = &harness.Variant{
	Name:   "zk-writelock",
	Doc:    "Apache's recipe, mended: looks for its parent and for a ticket of its own in every acquisition",
	Paper:  "zookeeper-recipes-lock",
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(writeLockRecipe),
}

var writeLockRecipe = recipe.Recipe{Kind: "lock-", Enter: enterWriteLock, Look: lookExists}

func enterWriteLock(t recipe.Ticket) error {
	exists, _, err := t.Conn().Exists(t.Dir())
	if err == nil && !exists {
		err = t.MakeParents()
	}
	if err != nil {
		return fmt.Errorf("zklock: queue at %s: %w", t.Dir(), err)
	}
	names, _, err := t.Conn().Children(t.Dir())
	if err != nil && !errors.Is(err, zk.ErrNoNode) {
		return fmt.Errorf("zklock: look for own ticket at %s: %w", t.Dir(), err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, t.Unique()) {
			t.Adopt(name)
			return nil
		}
	}
	return t.Create()
}

// lookExists is the Look of [recipe.Fair] with exists instead of getData.
var lookExists = recipe.Behind(list, recipe.Nearest, watchExists, "lock-")

func watchExists(t recipe.Ticket, name string) (<-chan zk.Event, error) {
	exists, _, wake, err := t.Conn().ExistsW(t.Dir() + "/" + name)
	if err == nil && !exists {
		err = zk.ErrNoNode
	}
	return wake, err
}

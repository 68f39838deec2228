package lab

import (
	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// herd is the same queue as [fair], but every waiter watches the list itself.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets and watch the list. The owner of the lowest holds the lock.
//  3. When the list changes, go to 2.
//
// Every arrival and departure wakes every waiter, and all of them list again: requests and watch
// events grow with the number of waiters. It is a baseline for fair.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for internet-scale systems",
// USENIX ATC 2010, §2.4, which describes the herd effect and how to avoid it.
var herd = &harness.Variant{
	Name:   "zk-herd",
	Doc:    "queue of ephemeral tickets, every waiter watches all of it",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(herdRecipe),
}

var herdRecipe = recipe.Recipe{Kind: "lock-", Look: look(func(t recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error) {
	return t.Conn().ChildrenW(t.Dir())
}, 0)}

package lab

import (
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

const pollPeriod = 5 * time.Millisecond

// poll is the queue of [fair] without watches: every waiter lists it every 5 ms. A handover
// takes up to a period, for a request per waiter and period.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Sleep for a period and go to 2.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "ZooKeeper Watches", on their purpose.
var poll = &harness.Variant{
	Name:   "zk-poll",
	Doc:    "queue of ephemeral tickets, every waiter lists it every 5 ms instead of watching",
	Paper:  "ZooKeeper Programmer's Guide",
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(pollRecipe),
}

var pollRecipe = recipe.Recipe{Kind: "lock-", Look: look(func(t recipe.Ticket) ([]string, *zk.Stat, <-chan zk.Event, error) {
	names, stat, err := list(t)
	return names, stat, nil, err
}, pollPeriod)}

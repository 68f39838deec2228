package lab

import (
	"time"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// booleanMutex is the protocol of otter's DistributedLock, mended: a waiter
// sleeps at a gate that the watch on the ticket ahead opens, and looks at the
// queue in any case once a minute, lest a watch be lost when servers restart.
// (As it was it is [booleanMutexHistorical].)
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node; again if it is gone.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Ask whether the next lower one exists, and watch it. If it is gone go to 2.
//  4. Wait at the gate, for a minute at most, and go to 2.
//
// What was wrong, and is not here: each acquisition has its own ticket and gate,
// not each object, so that a second goroutine waits; nothing is remembered of
// the session that it was once held in; an acquisition that fails removes its
// ticket, also one whose creation was not confirmed; and the minute is one.
//
// ZooKeeper's client sets its watches again after a reconnect and is told then
// of what it missed. The minute is a second line of defence.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedLock.java and BooleanMutex.java.
var booleanMutex = &harness.Variant{
	Name:   "zk-boolean-mutex",
	Doc:    "otter's lock, mended: waits at a gate that a watch opens, and looks once a minute in any case",
	Paper:  "otter DistributedLock",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: Follows(booleanMutexRecipe(time.Minute)),
}

// booleanMutexRecipe returns the protocol with that time at the gate, which is
// the channel of the watch: closed it stays open to all.
func booleanMutexRecipe(timeout time.Duration) recipe.Recipe {
	return recipe.Recipe{Kind: "lock-", Look: func(t recipe.Ticket) (recipe.View, error) {
		v, err := lookExists(t)
		v.Again = timeout
		return v, err
	}}
}

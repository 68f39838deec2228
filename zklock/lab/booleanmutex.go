package lab

import (
	"time"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// booleanMutex is the protocol of otter's DistributedLock with its faults fixed. A waiter sleeps
// at a gate that the watch on the ticket ahead opens. It lists the queue at least once a minute,
// in case a watch is lost when servers restart. [booleanMutexHistorical] is the original.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node; again if it is gone.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Check whether the next lower one exists, and watch it. If it is gone, go to 2.
//  4. Wait at the gate, for a minute at most, and go to 2.
//
// Fixed here: each acquisition has its own ticket and gate, instead of each object, so a second
// goroutine waits. No state of an ended session is kept. A failed acquisition removes its
// ticket, also after an unconfirmed create. The minute is a minute. ZooKeeper's client restores
// its watches after a reconnect, so the minute is only a second line of defence.
//
// # References
//
// Alibaba, otter, shared.arbitrate, DistributedLock.java and BooleanMutex.java.
var booleanMutex = &harness.Variant{
	Name:   "zk-boolean-mutex",
	Doc:    "otter's lock, mended: waits at a gate that a watch opens, and looks once a minute in any case",
	Paper:  "otter DistributedLock",
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(booleanMutexRecipe),
}

// booleanMutexRecipe has a gate that opens after a minute in any case: the watch's channel.
var booleanMutexRecipe = recipe.Recipe{Kind: "lock-", Look: func(t recipe.Ticket) (recipe.View, error) {
	v, err := lookExists(t)
	v.Again = time.Minute
	return v, err
}}

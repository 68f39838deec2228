package zklock

import (
	"errors"
	"fmt"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// pollPeriod is how often a waiter of poll lists the queue.
const pollPeriod = 5 * time.Millisecond

// poll is the queue of [fair] without watches: every waiter lists it every
// 5 ms. It shows what a watch is worth: a hand-over takes up to a period, and
// every waiter costs a request per period for as long as it waits.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Sleep for a period and go to 2.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "ZooKeeper Watches", on what they are
// there to save.
var poll = &harness.Variant{
	Name:   "zk-poll",
	Doc:    "queue of ephemeral tickets, every waiter lists it every 5 ms instead of watching",
	Paper:  "ZooKeeper Programmer's Guide",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(pollQueue(pollPeriod)),
}

func pollQueue(period time.Duration) *protocol {
	return &protocol{kind: "lock-", look: func(t *ticket) (view, error) { return lookPoll(t, period) }}
}

func lookPoll(t *ticket, period time.Duration) (view, error) {
	names, stat, err := t.q.c.conn.Children(t.q.path)
	if errors.Is(err, zk.ErrNoNode) {
		return view{gone: true}, nil
	}
	if err != nil {
		return view{}, fmt.Errorf("zklock: list %s: %w", t.q.path, err)
	}
	ahead, present := t.ahead(names)
	return view{
		gone:  !present,
		head:  present && ahead == "",
		token: uint64(stat.Pzxid),
		again: period,
	}, nil
}

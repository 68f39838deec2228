package zklock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// herd is the same queue as [fair], but every waiter watches the list itself.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets and watch the list. The owner of the lowest holds the
//     lock.
//  3. When the list changes go to 2.
//
// Every arrival and every departure wakes every waiter, and all of them then list
// again: requests and watch events grow with the number of waiters. It is here
// to be measured against fair.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4, which names the herd effect
// and how to avoid it.
var herd = &harness.Variant{
	Name:   "zk-herd",
	Doc:    "queue of ephemeral tickets, every waiter watches all of it",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(herdQueue),
}

var herdQueue = &protocol{kind: "lock-", look: lookHerd}

func lookHerd(t *ticket) (view, error) {
	names, stat, wake, err := t.q.c.conn.ChildrenW(t.q.path)
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
		wake:  wake,
	}, nil
}

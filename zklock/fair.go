package zklock

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// fair is the lock recipe of the ZooKeeper documentation: every waiter waits for
// the ticket just ahead, so a release wakes one waiter.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Watch the next lower ticket. If it is gone already go to 2.
//  4. When the watch fires go to 2. Never take the lock without looking: the
//     ticket ahead may have been that of a waiter that gave up.
//
// Three requests for acquire and release alone; five and one watch event
// behind others, whatever their number, though the list grows with it.
//
// The ticket ahead is watched by getData, not exists: asked of a missing node,
// exists leaves a watch behind that never fires.
//
// The token is the zxid of the last change to the queue that the holder saw when
// it found itself first: by then the ticket before had gone, which is such a
// change, and its owner had seen it in place. So the tokens of zk-fair rise, but
// not always past those of zk-handoff on the same path.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks.
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4, "Simple Locks without Herd
// Effect".
var fair = &harness.Variant{
	Name:   "zk-fair",
	Doc:    "queue of ephemeral tickets, each waiter watches the one ahead",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Family: harness.ZooKeeper,
	Status: harness.Reference,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(fairQueue),
}

var fairQueue = &protocol{kind: "lock-", look: lookFair}

func lookFair(t *ticket) (view, error) {
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
		if !present {
			return view{gone: true}, nil
		}
		if ahead == "" {
			return view{head: true, token: uint64(stat.Pzxid)}, nil
		}
		wake, err := c.watchNode(t.q.path + "/" + ahead)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return view{}, fmt.Errorf("zklock: watch %s/%s: %w", t.q.path, ahead, err)
		}
		return view{wake: wake}, nil
	}
}

package recipe

import (
	"errors"
	"fmt"

	"github.com/go-zookeeper/zk"
)

// Fair is the lock recipe of the ZooKeeper documentation: every waiter waits for the ticket
// just ahead, so a release wakes one waiter.
//
//  1. Create a ticket, an EPHEMERAL_SEQUENTIAL node.
//  2. List the tickets. The owner of the lowest holds the lock.
//  3. Watch the next lower ticket. If it is gone already, go to 2.
//  4. When the watch fires, go to 2. Never take the lock without a look: the ticket ahead may
//     have belonged to a waiter that gave up.
//
// Acquire and release take three requests alone, and five and one watch event behind others,
// whatever their number, though the list grows with it. The ticket ahead is watched by
// getData: exists on a missing node would leave a watch that never fires.
//
// The token is the zxid of the last change to the queue that the holder saw when it found
// itself first. The previous ticket had gone by then, which is such a change, and its owner
// had seen it in place. So the tokens rise, but not always past a Mutex's on the path.
//
// # References
//
// Apache ZooKeeper, "ZooKeeper Recipes and Solutions", Locks. Hunt, Konar, Junqueira, Reed,
// "ZooKeeper: Wait-free coordination for internet-scale systems", USENIX ATC 2010, §2.4,
// "Simple Locks without Herd Effect".
var Fair = Recipe{Kind: "lock-", Look: lookFair}

func lookFair(t Ticket) (View, error) {
	for {
		names, stat, err := t.Children()
		if errors.Is(err, zk.ErrNoNode) {
			return View{Gone: true}, nil
		}
		if err != nil {
			return View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
		}
		ahead, present := t.Ahead(names)
		if !present {
			return View{Gone: true}, nil
		}
		if ahead == "" {
			return View{Head: true, Token: uint64(stat.Pzxid)}, nil
		}
		wake, err := t.Watch(ahead)
		if errors.Is(err, zk.ErrNoNode) {
			continue
		}
		if err != nil {
			return View{}, fmt.Errorf("zklock: watch %s/%s: %w", t.Dir(), ahead, err)
		}
		return View{Wake: wake}, nil
	}
}

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
var Fair = Recipe{Kind: "lock-", Look: Behind(Ticket.Children, Nearest, Ticket.Watch)}

// Nearest is the obstacle of a queue in which the first ticket has the lock.
func Nearest(_ []Place, i int) int { return i - 1 }

// Behind returns the Look of a recipe. list lists the queue. The owner of the i-th ticket
// waits for the ticket that obstacle returns, or holds the lock if that is -1. watch watches
// that ticket, or returns zk.ErrNoNode if it is gone.
func Behind(
	list func(Ticket) ([]string, *zk.Stat, error), obstacle func(line []Place, i int) int,
	watch func(t Ticket, name string) (<-chan zk.Event, error),
) func(Ticket) (View, error) {
	return func(t Ticket) (View, error) {
		for {
			names, stat, err := list(t)
			if errors.Is(err, zk.ErrNoNode) {
				return View{Gone: true}, nil
			}
			if err != nil {
				return View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
			}
			line, i := t.Line(names)
			if i < 0 {
				return View{Gone: true}, nil
			}
			k := obstacle(line, i)
			if k < 0 {
				return View{Head: true, Token: uint64(stat.Pzxid)}, nil
			}
			wake, err := watch(t, line[k].Name)
			if errors.Is(err, zk.ErrNoNode) {
				continue
			}
			if err != nil {
				return View{}, fmt.Errorf("zklock: watch %s/%s: %w", t.Dir(), line[k].Name, err)
			}
			return View{Wake: wake}, nil
		}
	}
}

package lab

import (
	"errors"
	"fmt"
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
	Family: harness.ZooKeeper,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: Follows(Poll(pollPeriod)),
}

// Poll returns the recipe of zk-poll with that period.
func Poll(period time.Duration) recipe.Recipe {
	return recipe.Recipe{Kind: "lock-", Look: func(t recipe.Ticket) (recipe.View, error) { return lookPoll(t, period) }}
}

func lookPoll(t recipe.Ticket, period time.Duration) (recipe.View, error) {
	names, stat, err := t.Conn().Children(t.Dir())
	if errors.Is(err, zk.ErrNoNode) {
		return recipe.View{Gone: true}, nil
	}
	if err != nil {
		return recipe.View{}, fmt.Errorf("zklock: list %s: %w", t.Dir(), err)
	}
	ahead, present := t.Ahead(names)
	return recipe.View{
		Gone:  !present,
		Head:  present && ahead == "",
		Token: uint64(stat.Pzxid),
		Again: period,
	}, nil
}

package lab

import (
	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// fair is [recipe.Fair], the lock recipe of the ZooKeeper documentation.
//
// # References
//
// Hunt, Konar, Junqueira, Reed, "ZooKeeper: Wait-free coordination for
// internet-scale systems", USENIX ATC 2010, §2.4.
var fair = &harness.Variant{
	Name:   "zk-fair",
	Doc:    "queue of ephemeral tickets, each waiter watches the one ahead",
	Paper:  "Hunt, Konar, Junqueira & Reed 2010",
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(recipe.Fair),
}

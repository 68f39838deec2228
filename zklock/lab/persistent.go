package lab

import (
	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/zklock/internal/recipe"
)

// persistent is [fair] with tickets that do not end with their session. It is equivalent while
// no client dies. The ticket of a client that crashes, or loses its session, stays until it is
// removed by hand: see the failure scenarios holder-crash and middle-waiter-killed.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "Ephemeral Nodes": the other kind of node, and why
// locks use it.
var persistent = &harness.Variant{
	Name:   "zk-persistent",
	Doc:    "zk-fair with persistent tickets: a crash blocks all others for ever",
	Paper:  "ZooKeeper Programmer's Guide",
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true, Fenced: true},
	Remote: Follows(persistentRecipe),
}

var persistentRecipe = recipe.Recipe{Kind: "lock-", Enter: enterPersistent, Look: recipe.Fair.Look}

func enterPersistent(t recipe.Ticket) error {
	return t.Made(func() (string, error) {
		return t.Conn().Create(t.Dir()+"/"+t.Unique(), nil, zk.FlagSequence, t.ACL())
	})
}

package zklock

import (
	"github.com/go-zookeeper/zk"

	"locklab/harness"
)

// persistent is [fair] with tickets that do not go with their session. While
// none dies it is as good. The ticket of a holder or waiter that crashes, or
// only loses its session, stays until it is removed by hand: every client
// waits for ever. TestHistorical shows it.
//
// # References
//
// Apache ZooKeeper Programmer's Guide, "Ephemeral Nodes": the other kind of
// node, and why locks use it.
var persistent = &harness.Variant{
	Name:   "zk-persistent",
	Doc:    "zk-fair with persistent tickets: a crash blocks all others for ever",
	Paper:  "ZooKeeper Programmer's Guide",
	Family: harness.ZooKeeper,
	Status: harness.Historical,
	Traits: harness.Traits{FIFO: true, Fenced: true, Needs: harness.KindZooKeeper},
	Remote: remote(persistentQueue),
}

var persistentQueue = &protocol{kind: "lock-", enter: enterPersistent, look: lookFair}

func enterPersistent(t *ticket) (view, error) {
	c := t.q.c
	return view{}, t.made(func() (string, error) {
		return c.conn.Create(t.q.path+"/"+t.unique, nil, zk.FlagSequence, c.acl)
	})
}

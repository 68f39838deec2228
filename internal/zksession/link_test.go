package zksession_test

import (
	"errors"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/internal/zksession"
)

// TestDeleteOn: a deletion bound to a connection happens on that one or not at all.
func TestDeleteOn(t *testing.T) {
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	z := connect(t, zksession.Options{Servers: at.Addrs[0], Username: at.Username, Password: at.Password, TLS: at.TLS})
	node, err := z.Create("/locklab-link-", nil, zk.FlagEphemeralSequential, zk.WorldACL(zk.PermAll))
	requireNoError(t, err)
	old := z.Link()
	for range 2 { // at once, when the request waits for the next connection, and on that one
		z.Cut()
		for z.State() == zk.StateHasSession && z.Link() == old {
			time.Sleep(time.Millisecond)
		}
		if err := z.DeleteOn(old, node); !errors.Is(err, zksession.ErrOtherLink) && !errors.Is(err, zk.ErrConnectionClosed) {
			t.Errorf("DeleteOn of a connection that has gone = %v", err)
		}
	}
	for { // the connection may break once more
		err = z.DeleteOn(old, node)
		if !errors.Is(err, zk.ErrConnectionClosed) {
			break
		}
	}
	if !errors.Is(err, zksession.ErrOtherLink) {
		t.Errorf("DeleteOn of a connection that has gone = %v, want ErrOtherLink", err)
	}
	if there, _, err := z.Exists(node); !there || err != nil {
		t.Fatalf("the node is there: %t, %v", there, err)
	}
	if err := z.DeleteOn(z.Link(), node); err != nil {
		t.Errorf("DeleteOn of the connection there is = %v", err)
	}
	if there, _, err := z.Exists(node); there || err != nil {
		t.Errorf("the node is there: %t, %v", there, err)
	}
	for _, on := range []zksession.Link{old, z.Link()} {
		if err := z.DeleteOn(on, node); !errors.Is(err, zk.ErrNoNode) {
			t.Errorf("DeleteOn of a node that has gone = %v, want ErrNoNode", err)
		}
	}
}

package zklock_test

import (
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/go-zookeeper/zk"

	"locklab/harness"
	"locklab/harness/chaos"
	"locklab/internal/leaktest"
	wirezk "locklab/internal/wire/zookeeper"
)

// TestCutOff: an answer of a server that is cut off does not prove a session alive.
func TestCutOff(t *testing.T) {
	t.Parallel()
	var wg sync.WaitGroup
	defer wg.Wait()
	for _, c := range []struct {
		name  string
		leads bool // the server that is cut off
		cut   func(e *chaos.Linked, server int)
	}{
		{"follower isolated", false, (*chaos.Linked).Isolate},
		{"leader half open", true, (*chaos.Linked).Depose},
	} {
		// Without t.Parallel: they wait most of the time, and would delay other tests.
		wg.Go(func() { t.Run(c.name, func(t *testing.T) { cutOffServer(t, c.leads, c.cut) }) })
	}
}

// cutOffServer cuts off one server of three, with ZooKeeper's sample ticks and limits.
func cutOffServer(t *testing.T, leads bool, cut func(e *chaos.Linked, server int)) {
	e, err := chaos.StartLinked(t.Context())
	requireStarted(t, e, err)
	leaktest.Own(t)
	addrs := e.Server().Endpoint().Addrs[0]
	server := leader(t, e.Server())
	if !leads {
		server = (server + 1) % len(addrs)
	}
	see := raw(t, harness.Endpoint{Kind: harness.KindZooKeeper, Addrs: [][]string{addrs[server : server+1]}})
	cut(e, server)
	proofs(t, see, leads)
}

// proofs: answers of a server that is cut off prove nothing, and it leaves writes unanswered.
func proofs(t *testing.T, c *wirezk.Conn, leads bool) {
	before := c.Proof()
	var wg sync.WaitGroup
	for name, path := range map[string]string{"succeeds": "/", "fails": "/nothing"} {
		wg.Go(func() {
			_, err := c.Multi(&zk.CheckVersionRequest{Path: path, Version: -1})
			if !errors.Is(err, zk.ErrConnectionClosed) {
				t.Errorf("a multi of a check that %s is answered without a majority (%v)", name, err)
			}
		})
	}
	if leads {
		if _, err := c.Sync("/"); err != nil {
			t.Errorf("a leader that is cut off does not answer sync: %v: the test shows less than it did", err)
		}
	}
	time.Sleep(2 * time.Second)
	if p := c.Proof(); !p.Since.Equal(before.Since) || p.Unanswered.IsZero() {
		t.Errorf("at a server that is cut off the proof of the session has become %+v, from %+v", p, before)
	}
	wg.Wait()
}

package peers_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/peers"
)

// TestCuratorDowngrade: a writer that also reads, and then unlocks its write, keeps other
// writers out, as Curator up to 5.4.0 does not (CURATOR-621).
func TestCuratorDowngrade(t *testing.T) {
	if testing.Short() {
		t.Skip("make test-all runs it")
	}
	if raceEnabled {
		t.Skip("it is about Java and the server, of which the race detector sees nothing; it runs without -race")
	}
	t.Parallel()
	needJava(t)
	at := locktest.Endpoint(t, harness.KindZooKeeper)
	for _, test := range []struct{ owner, next string }{
		{"curator-rw", "curator-rw"},
		{"zk-rw-curator", "curator-rw"},
		{"zk-rw-curator", "zk-rw"},
	} {
		beside := downgrade(t, at, variant(test.owner), variant(test.next))
		wrong := test.owner == "curator-rw" && before55(t)
		if beside != wrong {
			t.Errorf("the owner is %s (Curator %s), the next %s: it gets in beside the owner: %t, want %t",
				test.owner, peers.CuratorVersion(), test.next, beside, wrong)
		}
	}
}

// downgrade reports whether a waiting writer gets in when a holder reads and stops writing.
func downgrade(t *testing.T, at harness.Endpoint, owner, next *harness.Variant) (beside bool) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	key := newKey()
	_, mine := joinAt(t, owner, at, key)
	_, theirs := joinAt(t, next, at, key)
	writes := mustLock(t, mine)
	waits := make(chan harness.Lease, 1)
	go func() {
		defer close(waits)
		l, err := theirs.Lock(ctx)
		if err != nil {
			t.Error(err)
			return
		}
		waits <- l
	}()
	time.Sleep(time.Second) // its ticket is before the reader's
	reads, err := mine.(harness.RWSession).RLock(ctx)
	requireNoError(t, err)
	requireNoError(t, writes.Unlock(ctx))
	var l harness.Lease
	select {
	case l = <-waits:
		beside = true
	case <-time.After(2 * time.Second):
	}
	requireNoError(t, reads.Unlock(ctx))
	if l == nil {
		l = <-waits
	}
	if l == nil {
		t.FailNow()
	}
	requireNoError(t, l.Unlock(ctx))
	return beside
}

func before55(t *testing.T) bool {
	var major, minor int
	if _, err := fmt.Sscanf(peers.CuratorVersion(), "%d.%d", &major, &minor); err != nil {
		t.Fatalf("the version of Curator is %q: %v", peers.CuratorVersion(), err)
	}
	return major < 5 || major == 5 && minor < 5
}

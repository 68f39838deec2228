package zklock_test

import (
	"sync"
	"testing"

	"locklab/harness"
	"locklab/zklock"
)

// TestPlainCost holds to its promise what zk-handoff costs where the ticket ahead is not
// where its number says.
func TestPlainCost(t *testing.T) {
	t.Parallel()
	atOnce(t, endpoint(t), []serverTest{
		{"the lock's node is written to", costOfWrites},
		{"beside locks that list", costBesideFair},
	})
}

// costOfWrites: what a user writes to the node of a lock stays, and costs the next turn
// one request at most.
func costOfWrites(t *testing.T, at harness.Endpoint) {
	see, c := raw(t, at), dial(t, at, zklock.ClientOptions{})
	m := c.Mutex(newPath(), zklock.Options{})
	for range 3 {
		unlock(t, lock(t, m))
	}
	for range 3 {
		if _, err := see.Set(m.Path(), []byte("config"), -1); err != nil {
			t.Fatal(err)
		}
		for _, want := range []uint64{3, 2, 2} {
			if got := cost(func() { unlock(t, lock(t, m)) }, c); got.Requests != want {
				t.Errorf("an acquisition costs %d requests, want %d", got.Requests, want)
			}
		}
	}
	if data, stat, err := see.Get(m.Path()); err != nil || string(data) != "config" || stat.Version != 3 {
		t.Errorf("the node has %q, %+v, %v", data, stat, err)
	}
}

// costBesideFair: behind locks that list a turn costs what it does with lists: create,
// list, watch, list, release.
func costBesideFair(t *testing.T, at harness.Endpoint) {
	const clients, turns = 4, 40
	path := newPath()
	var ours *zklock.Client
	var ms []*zklock.Mutex
	for i := range clients {
		ours = dial(t, at, zklock.ClientOptions{})
		m := ours.Mutex(path, zklock.Options{})
		if i < clients-1 {
			m = zklock.Fair(m)
		}
		unlock(t, lock(t, m)) // asks once for what it remembers
		ms = append(ms, m)
	}
	before := counts(ours)
	var wg sync.WaitGroup
	for _, m := range ms {
		wg.Go(func() {
			for range turns {
				unlock(t, lock(t, m))
			}
		})
	}
	wg.Wait()
	got := counts(ours).Sub(before)
	each := float64(got.Requests) / turns
	t.Logf("%.3f requests and %.3f events an acquisition", each, float64(got.Notifications)/turns)
	if each > 5.05 || got.Notifications == 0 {
		t.Errorf("%.3f requests and %d events for %d acquisitions, want at most 5 each, and some events", each, got.Notifications, turns)
	}
}

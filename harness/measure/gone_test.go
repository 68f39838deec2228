package measure

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"
)

// die ends a rank as if its process was killed: its claim expires.
func die(g *Ranks) {
	g.watcher.stop()
	g.watcher.Wait()
	g.meeting.client.Close()
}

func mortalRanks(t *testing.T, sync string, n int) []*Ranks {
	t.Helper()
	return groups(t, join(t, sync, n, func(o *RankOptions, _ *Rank) { o.expiry = 0 }))
}

// causeOf waits for the end of a rank's context, and returns its cause.
func causeOf(t *testing.T, g *Ranks) error {
	t.Helper()
	select {
	case <-g.Context().Done():
		return context.Cause(g.Context())
	case <-time.After(patience):
		t.Fatalf("rank %d never noticed", g.options.Rank)
		return nil
	}
}

// TestGoneAtBarrier: a rank that dies after its post counts; the next barrier fails.
func TestGoneAtBarrier(t *testing.T) {
	sync := parallel(t)
	all := mortalRanks(t, sync, 3)
	own, err := json.Marshal(posted{Barrier: "one"})
	if err == nil {
		_, err = all[2].meeting.exchange(t.Context(), all[2].run, "0", own)
	}
	requireNoError(t, err)
	die(all[2])
	runTogether(2, func(r int) {
		if _, err := all[r].Gather(t.Context(), "one", nil); err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
		_, err := all[r].start(t.Context(), "two")
		lost(t, err, "rank 2 (host host2, pid ", ") is gone")
	})
}

// TestKilledRun: a new run begins when a dead one's claims expire, and leaves nothing.
func TestKilledRun(t *testing.T) {
	sync := parallel(t)
	before := mortalRanks(t, sync, 3)
	for _, g := range before {
		die(g)
	}
	all := mortalRanks(t, sync, 2)
	if all[0].run == before[0].run {
		t.Error("the second run has the name of the first")
	}
	expectNoError(t, all[0].Leave(t.Context(), ""))
	b := all[1].meeting
	expectNoError(t, b.client.Del(t.Context(), b.claimKey(1)).Err())
	keys, err := b.client.Keys(t.Context(), b.key("*")).Result()
	if err != nil || len(keys) == 0 {
		t.Errorf("keys %q, %v", keys, err)
	}
	for _, k := range keys {
		ttl, err := b.client.PTTL(t.Context(), k).Result()
		if err != nil || ttl <= 0 && ttl != -2 || ttl > postedExpiry || strings.Contains(k, ":claim:") {
			t.Errorf("key %s expires in %v, %v", k, ttl, err)
		}
	}
}

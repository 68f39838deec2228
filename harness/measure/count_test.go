package measure_test

import (
	"context"
	"errors"
	"testing"

	"locklab/cmd/locklab/catalog"
	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/internal/leaktest"
)

func lock(t *testing.T, name string) *harness.Variant {
	t.Helper()
	for _, v := range catalog.All() {
		if v.Name == name {
			return v
		}
	}
	t.Fatalf("there is no lock %s", name)
	return nil
}

type count struct {
	lock, unlock, handover float64
	queue                  float64    // 0 is not checked
	requests               [2]float64 // alone, in a handover; 0 for a herd, because some may come later
	polls                  bool
}

// counts follow the protocols of the locks, as locklab trace shows them.
var counts = map[string]count{
	"redis-queue":     {lock: 1, unlock: 1, queue: 1, handover: 1, requests: [2]float64{2, 1}},
	"redis-token":     {lock: 1, unlock: 1, queue: 0.5, handover: 1, requests: [2]float64{2, 1}},
	"redis-pubsub":    {lock: 1, unlock: 1, handover: 2, requests: [2]float64{2, 0}},
	"redis-reentrant": {lock: 1, unlock: 1, queue: 1, handover: 2, requests: [2]float64{2, 0}},
	"redsync":         {lock: 1, unlock: 1, polls: true, requests: [2]float64{2, 0}},
	"redis-redlock":   {lock: 1, unlock: 1, polls: true, requests: [2]float64{6, 0}},
	"redis-spin":      {lock: 1, unlock: 1, polls: true, requests: [2]float64{2, 0}},
	"zk-handoff":      {lock: 1, unlock: 1, queue: 2, handover: 1, requests: [2]float64{2, 1}},
	"zk-fair":         {lock: 2, unlock: 1, queue: 3, handover: 2, requests: [2]float64{3, 2}},
	"zk-poll":         {lock: 2, unlock: 1, polls: true, requests: [2]float64{3, 0}},
}

func TestCount(t *testing.T) {
	at := map[string]harness.Endpoint{harness.KindRedis: locktest.Endpoints(t, harness.KindRedis, 3), harness.KindZooKeeper: locktest.Endpoint(t, harness.KindZooKeeper)}
	for name, want := range counts {
		t.Run(name, func(t *testing.T) {
			v := lock(t, name)
			at := at[v.Traits.Needs]
			if why := v.Traits.Lacks(at); why != "" {
				t.Skip(why)
			}
			leaktest.All(t)
			got, err := measure.CountTrips(t.Context(), v, at, "causal-"+name)
			if err != nil {
				t.Fatal(err)
			}
			if got.Lock.RoundTrips() != want.lock || got.Unlock.RoundTrips() != want.unlock || got.Lock.Requests+got.Unlock.Requests != want.requests[0] {
				t.Errorf("alone %+v and %+v, want %+v", got.Lock, got.Unlock, want)
			}
			b := got.Behind
			if b == nil || b.Polls != want.polls || want.queue > 0 && b.Queue.RoundTrips() != want.queue ||
				b.Handover.RoundTrips() != want.handover || want.requests[1] > 0 && b.Handover.Requests != want.requests[1] {
				t.Fatalf("behind others %+v, want %+v", b, want)
			}
		})
	}
}

func TestCountRefuses(t *testing.T) {
	v := lock(t, "redis-queue")
	at := harness.Endpoint{Kind: "paper", Addrs: [][]string{{"127.0.0.1:1"}}}
	if _, err := measure.CountTrips(t.Context(), v, at, "x"); !errors.Is(err, harness.ErrUnavailable) {
		t.Errorf("a server of another kind: %v", err)
	}
	at.Kind = harness.KindRedis
	if _, err := measure.CountTrips(t.Context(), v, at, "x"); err == nil {
		t.Error("a server that is not there is counted")
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("enough"))
	if _, err := measure.CountTrips(ctx, v, locktest.Endpoint(t, harness.KindRedis), "x"); err == nil {
		t.Error("a dry run that was interrupted is counted")
	}
}

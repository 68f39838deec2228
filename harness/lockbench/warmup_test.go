package lockbench

import (
	"testing"

	"locklab/harness"
)

func TestLong(t *testing.T) {
	for benchtime, want := range map[string]bool{"1s": true, "500ms": true, "499ms": false, "1x": false, "1000x": true, "99x": false, "?": false, "?x": false} {
		if got := long(benchtime); got != want {
			t.Errorf("-benchtime %s: %t, want %t", benchtime, got, want)
		}
	}
}

func TestWarmUpWhere(t *testing.T) {
	zk, redis := harness.Endpoint{Kind: harness.KindZooKeeper}, harness.Endpoint{Kind: harness.KindRedis}
	t.Setenv("LOCKLAB_ZOOKEEPER", "")
	if warmUp(nil, nil, zk) == nil || warmUp(nil, nil, redis) != nil {
		t.Error("want a warm-up for ZooKeeper only")
	}
	t.Setenv("LOCKLAB_ZOOKEEPER", "localhost:2181")
	if warmUp(nil, nil, zk) != nil {
		t.Error("a server of the user's is warmed up")
	}
}

func TestLoads(t *testing.T) {
	here := &harness.Variant{Name: "here", Traits: harness.Traits{Needs: harness.KindZooKeeper}}
	gone := &harness.Variant{Name: "gone", Traits: harness.Traits{Needs: harness.KindZooKeeper}, Unavailable: "no Java"}
	local := &harness.Variant{Name: "local"}
	got := loads([]*harness.Variant{here, gone, local}, harness.KindZooKeeper)
	if len(got) != 1 || got[0].Lock != here || got[0].Workload.Rate != 0 || got[0].Workload.Workers < 4 {
		t.Errorf("%+v", got)
	}
}

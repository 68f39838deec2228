package lockbench

import (
	"flag"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/internal/machine"
	"locklab/internal/require"
)

// TestProbesAreNotTimed: a benchmark's clock runs only while the workers do.
func TestProbesAreNotTimed(t *testing.T) {
	if cpus := machine.ReadTopology().CPUs(); len(cpus) < 2 {
		t.Skip("with one processor there is no probe")
	}
	benchtime := flag.Lookup("test.benchtime").Value
	before := benchtime.String()
	require.NoError(t, benchtime.Set("2ms"))
	defer benchtime.Set(before)
	lock := &harness.Variant{Name: "good", Doc: "a mutex", Paper: "none", Family: harness.Blocking,
		Local: func(harness.Setup) harness.Local { return harness.Shared(new(sync.Mutex)) }}
	in := measure.Calibrate()
	job := measure.Job{Lock: lock, Seed: 1, Workload: harness.Workload{Workers: 1, Window: time.Second, Warmup: localWarmup}}
	most, enough := 0, 1000
	if locktest.RaceDetector {
		enough = 4 // acquisitions are slow; more than one fits only if the clock stood still
	}
	for range 40 { // a busy machine may take the processor during an acquisition
		res := testing.Benchmark(func(b *testing.B) { bench(b, in, job) })
		if most = max(most, res.N); most >= enough {
			return
		}
	}
	t.Errorf("a benchmark of 2 ms was given %d acquisitions at the most", most)
}

func TestOpenLoop(t *testing.T) {
	benchtime := flag.Lookup("test.benchtime").Value
	before := benchtime.String()
	defer benchtime.Set(before)
	lock := &harness.Variant{Name: "good", Doc: "a mutex", Paper: "none", Family: harness.Blocking,
		Local: func(harness.Setup) harness.Local { return harness.Shared(new(sync.Mutex)) }}
	ws := workloads(lock, 2)
	w := ws[len(ws)-1]
	if got := "lock=good/" + w.Name(); got != "lock=good/workers=16/rate=100k-per-s/hold=100ns" || len(ws) != 4 {
		t.Errorf("the last of %d benchmarks is %s", len(ws), got)
	}
	w.Workers = 2
	in := measure.Calibrate()
	for _, c := range []struct {
		time string
		want bool
	}{{"20x", false}, {"20000x", true}} {
		require.NoError(t, benchtime.Set(c.time))
		res := testing.Benchmark(func(b *testing.B) { bench(b, in, measure.Job{Lock: lock, Workload: w, Seed: 1}) })
		for _, unit := range []string{"p99-ns/op", "goodput-%"} {
			if _, ok := res.Extra[unit]; ok != c.want {
				t.Errorf("%s: it has a figure of %s: %v, want %v", c.time, unit, ok, c.want)
			}
		}
		if _, ok := res.Extra["offered/s"]; !ok {
			t.Errorf("%s: it does not say the load", c.time)
		}
		require.Equal(t, c.time+": the Jain index of an open loop", res.Extra["jain-%"], 0)
	}
	lock.Traits.MaxWorkers = 1
	if ws := workloads(lock, 2); len(ws) != 2 || ws[0].Rate != 0 || ws[1].Workers != 1 || ws[1].Rate != Rate {
		t.Errorf("a lock for one worker has the benchmarks %+v", ws)
	}
	remote := &harness.Variant{Name: "far"}
	if ws := workloads(remote, 2); ws[3].Workers != openRemoteWorkers || ws[3].Rate != RemoteRate || ws[3].Hold.Mean != 0 {
		t.Errorf("a distributed lock has the benchmarks %+v", ws)
	}
}

func TestLong(t *testing.T) {
	for benchtime, want := range map[string]bool{"1s": true, "500ms": true, "499ms": false, "1x": false, "1000x": true, "99x": false, "?": false, "?x": false} {
		require.Equal(t, "-benchtime "+benchtime, long(benchtime), want)
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

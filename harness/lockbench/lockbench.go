package lockbench

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/metric"
	"locklab/harness/runner"
)

// Main runs the tests of a lock package, which m is or runs. When benchmarks are among
// them it first prints, once, which way each unit is better, for benchstat.
func Main(m interface{ Run() int }) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		for _, x := range metric.Suite {
			if slices.Contains(units, x.Unit) && x.Better != "" {
				fmt.Printf("Unit %s better=%s\n", x.Unit, x.Better)
			}
		}
	}
	os.Exit(m.Run())
}

// units are the metrics that a benchmark line shows, in the order of the
// line; a result file has all of them. A time per acquisition says little
// without which workers got them, so what the owner log shows is among them.
var units = []string{
	"ns/op", "acq/s", "p50-ns/op", "p99-ns/op", "p999-ns/op", "handovers/s", "handover-ns/op",
	"transfers/handover", "roundtrip-ns/op", "roundtrips/turn", "roundtrips/handover", "p99-roundtrips/op",
	"hold-%", "handover-%", "wait-%",
	"jain-%", "streak-p99", "gap-p99", "lwss-%", "mttr-acq", "bypass-acq",
	"overlap-%", "cpu-ns/op", "switches/op", "preemptions/op", "reqs/op", "notifs/op",
}

// Hold is how long a benchmark keeps a local lock. Remote locks are released
// at once.
const Hold = 100 * time.Nanosecond

// Run makes one sub-benchmark of every variant for 1, P and 4P workers, P
// being GOMAXPROCS, named lock=NAME/workers=N/hold=D. b.N is one budget that
// all workers draw from. A violated promise fails the benchmark.
func Run(b *testing.B, suite []*harness.Variant) {
	in := sync.OnceValue(runner.Calibrate)
	procs := runtime.GOMAXPROCS(0)
	servers := make(map[string]harness.Endpoint)
	for _, v := range suite {
		if kind := v.Traits.Needs; kind != "" && servers[kind].Kind == "" {
			servers[kind] = locktest.Endpoints(b, kind, harness.Servers(suite, kind))
		}
	}
	for _, v := range suite {
		if v.Status == harness.Broken || v.Status == harness.Historical {
			continue
		}
		for _, workers := range slices.Compact([]int{1, procs, 4 * procs}) {
			if most := v.Traits.MaxWorkers; most > 0 && workers > most {
				continue
			}
			w := harness.Workload{Workers: workers, Warmup: localWarmup, Window: time.Second}
			if v.Local != nil {
				w.Hold.Mean = Hold
			} else {
				w.Warmup = remoteWarmup
			}
			b.Run("lock="+v.Name+"/"+w.Name(), func(b *testing.B) {
				if v.Unavailable != "" {
					b.Skip(v.Unavailable)
				}
				if lacks := v.Traits.Lacks(servers[v.Traits.Needs]); lacks != "" {
					b.Skip(lacks)
				}
				bench(b, in(), runner.Job{Lock: v, Workload: w, At: servers[v.Traits.Needs], Seed: 1})
			})
		}
	}
}

// A benchmark function is called several times with growing b.N; each call
// warms its lock up for this long, to tune the loop.
const (
	localWarmup  = 5 * time.Millisecond
	remoteWarmup = 50 * time.Millisecond
)

func bench(b *testing.B, in *runner.Instruments, job runner.Job) {
	job.Key = fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	rig, err := runner.Open(b.Context(), in, job)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := rig.Close(); err != nil {
			b.Error(err)
		}
	}()
	checked := func(res *harness.Result, err error) *harness.Result {
		if err != nil {
			b.Fatal(err)
		}
		for _, x := range res.Violations {
			b.Fatalf("%s violated %s %d times: %s", job.Lock.Name, x.Rule, x.Count, x.Detail)
		}
		return res
	}
	checked(rig.Drive(b.Context(), runner.Limit{Window: job.Workload.Warmup}))
	res := checked(rig.DriveProbed(b.Context(), runner.Limit{Ops: int64(b.N)}, b.ResetTimer, b.StopTimer))
	for _, m := range metric.Suite {
		if !slices.Contains(units, m.Unit) {
			continue
		}
		if value, ok := m.Of(res); ok {
			b.ReportMetric(value, m.Unit)
		}
	}
}

package lockbench

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/locktest"
	"locklab/harness/measure"
	"locklab/harness/result"
	"locklab/internal/backend"
)

// Main runs the tests of a lock package; m is a *testing.M or a wrapper. If there are
// benchmarks it first prints, once, the better direction of each unit, for benchstat.
func Main(m interface{ Run() int }) {
	flag.Parse()
	if f := flag.Lookup("test.bench"); f != nil && f.Value.String() != "" {
		for _, x := range result.Metrics {
			if slices.Contains(units, x.Unit) && x.Better != "" {
				fmt.Printf("Unit %s better=%s\n", x.Unit, x.Better)
			}
		}
	}
	os.Exit(m.Run())
}

// units are the metrics of a benchmark line, in order, with the distribution among workers.
var units = []string{
	"ns/op", "acq/s", "p50-ns/op", "p99-ns/op", "p999-ns/op", "handovers/s", "handover-ns/op",
	"transfers/handover", "roundtrip-ns/op", "roundtrips/period", "roundtrips/handover", "p99-roundtrips/op",
	"hold-%", "handover-%", "wait-%",
	"jain-%", "streak-p99", "gap-p99", "lwss-%", "mttr-acq", "bypass-acq",
	"overlap-%", "cpu-ns/op", "switches/op", "preemptions/op", "reqs/op", "notifs/op",
	"offered/s", "goodput-%", "late-%",
}

// Hold is the hold time of a local lock in a benchmark. Remote locks are released at once.
const Hold = 100 * time.Nanosecond

// The rates of open loops for local and distributed locks: far less than a good lock grants.
const (
	Rate       harness.Rate = 100_000
	RemoteRate harness.Rate = 500
)

// The workers of an open loop: the limit of acquisitions in progress. They differ from
// the numbers of closed loops, so that no row of benchstat mixes the two.
const (
	openWorkers       = 8 // times GOMAXPROCS, for a local lock
	openRemoteWorkers = 64
)

// Run makes sub-benchmarks of every variant: closed loops of 1, P and 4P workers, P being
// GOMAXPROCS, and an open loop, whose waits count from the intended starts. All workers share
// the budget b.N. A violated promise fails the benchmark.
func Run(b *testing.B, suite []*harness.Variant) {
	in := sync.OnceValue(measure.Calibrate)
	procs := runtime.GOMAXPROCS(0)
	servers := make(map[string]harness.Endpoint)
	for _, v := range suite {
		if kind := v.Traits.Needs; kind != "" && servers[kind].Kind == "" {
			servers[kind] = locktest.Endpoints(b, kind, locktest.Servers(suite, kind))
		}
	}
	warm := make(map[string]func(*testing.B))
	for kind, at := range servers {
		warm[kind] = warmUp(in, suite, at)
	}
	for _, v := range suite {
		if v.Status == harness.Broken || v.Status == harness.Historical {
			continue
		}
		for _, w := range workloads(v, procs) {
			b.Run("lock="+v.Name+"/"+w.Name(), func(b *testing.B) {
				if v.Unavailable != "" {
					b.Skip(v.Unavailable)
				}
				if lacks := v.Traits.Lacks(servers[v.Traits.Needs]); lacks != "" {
					b.Skip(lacks)
				}
				if first := warm[v.Traits.Needs]; first != nil {
					first(b)
				}
				bench(b, in(), measure.Job{Lock: v, Workload: w, At: servers[v.Traits.Needs], Seed: 1})
			})
		}
	}
}

func workloads(v *harness.Variant, procs int) (ws []harness.Workload) {
	w := harness.Workload{Warmup: localWarmup, Window: time.Second}
	open := harness.Workload{Workers: openWorkers * procs, Rate: Rate}
	if v.Local != nil {
		w.Hold.Mean = Hold
	} else {
		w.Warmup = remoteWarmup
		open = harness.Workload{Workers: openRemoteWorkers, Rate: RemoteRate}
	}
	most := v.Traits.MaxWorkers
	for _, workers := range slices.Compact([]int{1, procs, 4 * procs}) {
		if most == 0 || workers <= most {
			w.Workers = workers
			ws = append(ws, w)
		}
	}
	if w.Workers = open.Workers; most > 0 {
		w.Workers = min(w.Workers, most)
	}
	w.Rate = open.Rate
	return append(ws, w)
}

// The warm-up of each call of a benchmark function, which grows b.N.
const (
	localWarmup  = 5 * time.Millisecond
	remoteWarmup = 50 * time.Millisecond
)

// settled is the least duration of an open loop whose granted rate is meaningful: the
// millisecond before its first arrival is then a hundredth.
const settled = 100 * time.Millisecond

func bench(b *testing.B, in *measure.Instruments, job measure.Job) {
	job.Key = fmt.Sprintf("bench-%d-%d", os.Getpid(), time.Now().UnixNano())
	rig, err := measure.Open(b.Context(), in, job)
	if err != nil {
		b.Fatal(err)
	}
	defer func() {
		if err := rig.Close(); err != nil {
			b.Error(err)
		}
	}()
	checked := func(res *result.Result, err error) *result.Result {
		if err != nil {
			b.Fatal(err)
		}
		for _, x := range res.Violations {
			b.Fatalf("%s violated %s %d times: %s", job.Lock.Name, x.Rule, x.Count, x.Detail)
		}
		return res
	}
	checked(rig.Drive(b.Context(), measure.Limit{Window: job.Workload.Warmup}))
	res := checked(rig.DriveProbed(b.Context(), measure.Limit{Ops: int64(b.N)}, b.ResetTimer, b.StopTimer))
	for _, m := range result.Metrics {
		if !slices.Contains(units, m.Unit) || m == result.Goodput && res.Open != nil && res.Open.Span < settled {
			continue
		}
		if value, ok := m.Of(res); ok {
			b.ReportMetric(value, m.Unit)
		}
	}
}

// Shorter benchmarks are no measurements, and not worth a long warm-up.
const (
	longEnough = 500 * time.Millisecond
	manyEnough = 1000
	warmMost   = 30 * time.Second
)

// warmUp returns a function that warms up the servers at at, once, before the first
// benchmark that needs them. It returns nil if they do not get faster, or are the user's.
func warmUp(in func() *measure.Instruments, suite []*harness.Variant, at harness.Endpoint) func(*testing.B) {
	if !measure.WarmsUp(at.Kind) || backend.UsersServer(at.Kind) != "" || !long(flag.Lookup("test.benchtime").Value.String()) {
		return nil
	}
	var once sync.Once
	return func(b *testing.B) {
		once.Do(func() {
			w, err := measure.WarmUp(b.Context(), in(), loads(suite, at.Kind), at, warmMost)
			if err != nil {
				b.Fatal(err)
			}
			b.Logf("%s was warmed up for %v", at.Kind, w.Took.Round(time.Second))
		})
	}
}

func loads(suite []*harness.Variant, kind string) (cases []measure.Case) {
	for _, v := range suite {
		if v.Traits.Needs == kind && v.Unavailable == "" {
			all := workloads(v, runtime.GOMAXPROCS(0))
			cases = append(cases, measure.Case{Lock: v, Workload: all[len(all)-2]}) // the most workers of a closed loop
		}
	}
	return cases
}

func long(benchtime string) bool {
	if n, ok := strings.CutSuffix(benchtime, "x"); ok {
		count, err := strconv.Atoi(n)
		return err == nil && count >= manyEnough
	}
	d, err := time.ParseDuration(benchtime)
	return err == nil && d >= longEnough
}

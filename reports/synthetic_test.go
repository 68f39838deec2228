package reports

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/machine"
)

// A model is a made-up lock for tests of what a report says. No figure of it
// is ever published.
type model struct {
	lock    harness.Lock
	rate    func(workers int) float64 // acquisitions per second
	skew    float64                   // worker i gets exp(-skew·i/workers) shares
	handed  float64                   // share of acquisitions that change hands
	noise   float64                   // of the rate, relative
	breaks  bool                      // exclusion, in its last round
	missing int                       // rounds it lacks
}

func local(name string, family harness.Family, status harness.Status) harness.Lock {
	return harness.Lock{Name: name, Doc: "a made-up lock", Paper: "none", Family: family, Status: status}
}

func served(name string, family harness.Family, kind string) harness.Lock {
	l := local(name, family, harness.Recommended)
	l.Traits.Needs = kind
	return l
}

// synthesize returns a run of the models, the same for the same arguments.
func synthesize(seed uint64, rounds, cpus int, workers []int, models ...model) *resultfile.Run {
	rng := rand.New(rand.NewPCG(seed, 1))
	started := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	run := &resultfile.Run{Manifest: resultfile.Manifest{
		Schema: resultfile.Schema, Command: []string{"locklab", "run", "--locks", "a b"}, Commit: "0123abc", Seed: seed,
		Rounds: rounds, Cases: len(models) * len(workers), Started: started, Finished: started.Add(time.Hour),
		Machine: machine.Environment{OS: "linux", Arch: "amd64", Kernel: "0.0", CPU: "Made-up CPU", CPUs: cpus, GOMAXPROCS: cpus,
			Clock: "monotonic", ClockFloor: 20, ClockStep: 10, Go: "go0.0"},
	}}
	for round := range rounds {
		for _, m := range models {
			if round >= rounds-m.missing {
				continue
			}
			for _, w := range workers {
				run.Results = append(run.Results, m.result(rng, round, rounds, w))
			}
		}
	}
	return run
}

func (m model) result(rng *rand.Rand, round, rounds, workers int) *harness.Result {
	r := &harness.Result{
		Lock: m.lock, Round: round, Elapsed: time.Second, SampleEvery: 64, ClockFloor: 20, ClockStep: 10, Overlap: 0.99,
		Workload: harness.Workload{Workers: workers, Hold: harness.Span{Mean: 100 * time.Nanosecond}, Window: time.Second},
	}
	rate := m.rate(workers) * math.Exp(m.noise*rng.NormFloat64())
	total := 0.0
	shares := make([]float64, workers)
	for i := range shares {
		shares[i] = math.Exp(-m.skew*float64(i)/float64(workers)) * math.Exp(0.02*rng.NormFloat64())
		total += shares[i]
	}
	for _, s := range shares {
		n := uint64(rate * s / total)
		r.Workers = append(r.Workers, n)
		r.Ops += n
	}
	if workers > 1 {
		r.Handovers = uint64(float64(r.Ops) * m.handed)
	}
	counts := make(map[int64]int64)
	for range min(int(r.Ops/64), 400) {
		counts[int64(math.Exp(math.Log(1e9/rate*float64(workers))+(0.3+m.skew/3)*rng.NormFloat64()))]++
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		r.Wait = append(r.Wait, harness.Bucket{Value: v, N: counts[v]})
	}
	turn := 1e9 / rate
	r.Hold = harness.Spans{N: int64(r.Ops / 64), Sum: time.Duration(0.5 * turn * float64(r.Ops/64))}
	if n := int64(r.Handovers / 64); n > 0 {
		r.Handover = harness.Histogram{{Value: int64(0.4*turn) + 1, N: n}}
	}
	r.CPU = harness.CPU{Time: time.Duration(min(workers, 2)) * time.Second, Voluntary: int64(r.Ops / 10), Allocs: r.Ops / 100}
	if m.lock.Traits.Needs != "" {
		r.Wire = &harness.Counts{Requests: 3 * r.Ops, Notifications: r.Ops}
		r.RoundTrip = map[string]float64{harness.KindRedis: 20e3, harness.KindZooKeeper: 50e3}[m.lock.Traits.Needs] * (1 + 0.01*float64(round))
	}
	r.Owners, r.Burst = m.owners(rand.New(rand.NewPCG(uint64(round), uint64(workers))), shares)
	if m.breaks && round == rounds-1 {
		r.Violations = []harness.Violation{{Rule: "exclusion", Detail: "counter is 7, the workers counted 9", Count: 2}}
	}
	return r
}

// owners makes a log of two bursts: every owner passes the lock on to the next
// worker, or keeps it; of workers with unequal shares the first ones keep it
// longer.
func (m model) owners(rng *rand.Rand, shares []float64) (log []uint16, burst int) {
	if len(shares) < 2 {
		return nil, 0
	}
	burst = 256
	owner := 0
	for range 2 * burst {
		if rng.Float64() < m.handed*shares[len(shares)-1]/shares[owner] {
			owner = (owner + 1) % len(shares)
		}
		log = append(log, uint16(owner))
	}
	return log, burst
}

func constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// zoo returns a run with many locks of every family.
func zoo(rounds int) *resultfile.Run {
	falling := func(from, at1 float64) func(int) float64 {
		return func(w int) float64 {
			if w == 1 {
				return at1
			}
			return from / math.Pow(float64(w), 0.3)
		}
	}
	collapsing := func(from, at1 float64) func(int) float64 {
		return func(w int) float64 {
			if w > 2 {
				return from / 100 / float64(w)
			}
			return falling(from, at1)(w)
		}
	}
	run := synthesize(7, rounds, 2, []int{1, 2, 4, 8, 16, 64},
		model{lock: local("tas", harness.Spin, harness.Reference), rate: falling(20e6, 80e6), skew: 3, handed: 0.1, noise: 0.05},
		model{lock: local("ttas", harness.Spin, harness.Reference), rate: falling(22e6, 80e6), skew: 2.5, handed: 0.1, noise: 0.05},
		model{lock: local("backoff", harness.Spin, harness.Recommended), rate: falling(33e6, 79e6), skew: 2, handed: 0.05, noise: 0.04},
		model{lock: local("ticket", harness.Spin, harness.Reference), rate: collapsing(15e6, 78e6), handed: 1, noise: 0.03},
		model{lock: local("mcs", harness.Spin, harness.Recommended), rate: collapsing(18e6, 50e6), handed: 1, noise: 0.03},
		model{lock: local("clh", harness.Spin, harness.Recommended), rate: collapsing(18.3e6, 55e6), handed: 1, noise: 0.03},
		model{lock: local("hemlock", harness.Spin, harness.Recommended), rate: collapsing(16e6, 60e6), handed: 1, noise: 0.03},
		model{lock: local("reciprocating", harness.Spin, harness.Recommended), rate: collapsing(21e6, 70e6), skew: 0.2, handed: 1, noise: 0.03},
		model{lock: local("sync.mutex", harness.Blocking, harness.Recommended), rate: falling(25e6, 75e6), skew: 0.7, handed: 0.2, noise: 0.02},
		model{lock: local("rwmutex", harness.Blocking, harness.Recommended), rate: falling(12e6, 40e6), skew: 0.3, handed: 0.2, noise: 0.02},
		model{lock: local("chan", harness.Blocking, harness.Recommended), rate: falling(7e6, 22e6), skew: 0.1, handed: 0.9, noise: 0.02},
		model{lock: local("futex", harness.Blocking, harness.Recommended), rate: falling(24.5e6, 76e6), skew: 1.1, handed: 0.2, noise: 0.05},
		model{lock: local("empty", harness.Blocking, harness.Control), rate: constant(400e6), noise: 0.02},
		model{lock: local("counter", harness.Peer, harness.Recommended), rate: constant(500e6), breaks: true},
	)
	remote := synthesize(8, rounds, 2, []int{1, 2, 4, 8},
		model{lock: served("redis-lock", harness.Redis, "redis"), rate: falling(3000, 2500), skew: 3, handed: 0.1, noise: 0.05},
		model{lock: served("redis-queue", harness.Redis, "redis"), rate: falling(1900, 1500), handed: 1, noise: 0.05},
		model{lock: served("zk-lock", harness.ZooKeeper, "zookeeper"), rate: falling(700, 400), handed: 1, noise: 0.05},
		model{lock: served("zk-handoff", harness.ZooKeeper, "zookeeper"), rate: falling(1100, 420), handed: 1, noise: 0.05},
		model{lock: served("redsync", harness.Peer, "redis"), rate: falling(300, 2200), skew: 1, handed: 0.5, noise: 0.1},
	)
	for _, r := range remote.Results {
		r.Workload.Hold.Mean = time.Millisecond
	}
	run.Results = append(run.Results, remote.Results...)
	run.Manifest.Cases += remote.Manifest.Cases
	return run
}

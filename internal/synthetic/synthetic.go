package synthetic

import (
	"maps"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"locklab/harness"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/machine"
)

// A Model is a synthetic lock for tests of reports. Its figures are never published.
type Model struct {
	Lock   result.Lock
	Rate   func(workers int) float64 // acquisitions per second
	Skew   float64                   // worker i gets exp(-skew·i/workers) shares
	Handed float64                   // share of acquisitions that change owners
	Noise  float64                   // of the rate, relative
	Breaks bool                      // exclusion, in its last round
}

// Local returns a lock inside one process.
func Local(name string, family harness.Family, status harness.Status) result.Lock {
	return result.Lock{Name: name, Doc: "a made-up lock", Paper: "none", Family: family, Status: status}
}

// Served returns a lock that needs a server of that kind.
func Served(name string, family harness.Family, kind string) result.Lock {
	l := Local(name, family, harness.Correct)
	l.Traits.Needs = kind
	return l
}

// Run returns a run of the models. The same arguments give the same run.
func Run(seed uint64, rounds, cpus int, workers []int, models ...Model) *result.Run {
	rng := rand.New(rand.NewPCG(seed, 1))
	started := time.Date(2020, 2, 3, 4, 5, 6, 0, time.UTC)
	run := &result.Run{Manifest: result.Manifest{
		Schema: result.Schema, Command: []string{"locklab", "run", "--locks", "a b"}, Commit: "0123abc", Seed: seed,
		Rounds: rounds, Cases: len(models) * len(workers), Started: started, Finished: started.Add(time.Hour),
		Machine: machine.Environment{OS: "linux", Arch: "amd64", Kernel: "0.0", CPU: "Made-up CPU", CPUs: cpus, GOMAXPROCS: cpus,
			Clock: "monotonic", ClockFloor: 20, ClockStep: 10, Go: "go0.0"},
	}}
	for round := range rounds {
		for _, m := range models {
			for _, w := range workers {
				run.Results = append(run.Results, m.result(rng, round, rounds, w))
			}
		}
	}
	return run
}

func (m Model) result(rng *rand.Rand, round, rounds, workers int) *result.Result {
	r := &result.Result{
		Lock: m.Lock, Round: round, Elapsed: time.Second, SampleEvery: 64, ClockFloor: 20, ClockStep: 10, Overlap: 0.99,
		Workload: harness.Workload{Workers: workers, Hold: harness.Span{Mean: 100 * time.Nanosecond}, Window: time.Second},
	}
	rate := m.Rate(workers) * math.Exp(m.Noise*rng.NormFloat64())
	total := 0.0
	shares := make([]float64, workers)
	for i := range shares {
		shares[i] = math.Exp(-m.Skew*float64(i)/float64(workers)) * math.Exp(0.02*rng.NormFloat64())
		total += shares[i]
	}
	for _, s := range shares {
		n := uint64(rate * s / total)
		r.Workers = append(r.Workers, n)
		r.Ops += n
	}
	r.BucketCounts = bucketed(r)
	if workers > 1 {
		r.Handovers = uint64(float64(r.Ops) * m.Handed)
	}
	counts := make(map[int64]int64)
	for range min(int(r.Ops/64), 400) {
		counts[int64(math.Exp(math.Log(1e9/rate*float64(workers))+(0.3+m.Skew/3)*rng.NormFloat64()))]++
	}
	for _, v := range slices.Sorted(maps.Keys(counts)) {
		r.Wait = append(r.Wait, result.Bucket{Value: v, N: counts[v]})
	}
	turn := 1e9 / rate
	r.Hold = result.Spans{N: int64(r.Ops / 64), Sum: time.Duration(0.5 * turn * float64(r.Ops/64))}
	if n := int64(r.Handovers / 64); n > 0 {
		r.Handover = result.Histogram{{Value: int64(0.4*turn) + 1, N: n}}
	}
	r.CPU = result.ClientCost{Time: time.Duration(min(workers, 2)) * time.Second, Voluntary: int64(r.Ops / 10), Allocs: r.Ops / 100}
	if m.Lock.Traits.Needs != "" {
		r.Wire = &harness.Counts{Requests: 3 * r.Ops, Notifications: r.Ops}
		r.RoundTrip = map[string]float64{harness.KindRedis: 20e3, harness.KindZooKeeper: 50e3}[m.Lock.Traits.Needs] * (1 + 0.01*float64(round))
	}
	r.Owners, r.Burst = m.owners(rand.New(rand.NewPCG(uint64(round), uint64(workers))), shares)
	if m.Breaks && round == rounds-1 {
		r.Violations = []oracle.Violation{{Rule: "exclusion", Detail: "counter is 7, the workers counted 9", Count: 2}}
	}
	return r
}

// bucketed spreads the operations of the workers of r evenly over the buckets of its window,
// except for remainders: the shares of each bucket equal the shares of the window.
func bucketed(r *result.Result) (counts []uint32) {
	buckets := uint64(r.Elapsed / harness.BucketLength)
	if len(r.Workers) < 2 {
		return nil
	}
	for s := range buckets {
		for _, n := range r.Workers {
			counts = append(counts, uint32(n*(s+1)/buckets-n*s/buckets))
		}
	}
	return counts
}

// owners makes a log of two bursts: every owner passes the lock to the next worker, or
// keeps it. Among workers with unequal shares the first ones keep it longer.
func (m Model) owners(rng *rand.Rand, shares []float64) (log []uint16, burst int) {
	if len(shares) < 2 {
		return nil, 0
	}
	burst = 256
	owner := 0
	for range 2 * burst {
		if rng.Float64() < m.Handed*shares[len(shares)-1]/shares[owner] {
			owner = (owner + 1) % len(shares)
		}
		log = append(log, uint16(owner))
	}
	return log, burst
}

// Constant returns a rate that does not depend on the workers.
func Constant(v float64) func(int) float64 { return func(int) float64 { return v } }

// Fast returns the model of a spin lock with that rate and little noise.
func Fast(name string, rate float64) Model {
	return Model{Lock: Local(name, harness.Spin, harness.Correct), Rate: Constant(rate), Handed: 0.5, Noise: 0.01}
}

// With returns m with the edits made.
func With(m Model, edits ...func(*Model)) Model {
	for _, edit := range edits {
		edit(&m)
	}
	return m
}

package result

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

func bucketsInto(workers int, counts ...uint32) *Result {
	return &Result{Workers: make([]uint64, workers), BucketCounts: counts}
}

func setServed(r *Result) *Result {
	r.Lock.Traits.Needs = harness.KindRedis
	return r
}

func setDemand(r *Result, hold, think time.Duration) *Result {
	r.Workload.Hold.Mean, r.Workload.Think.Mean = hold, think
	return r
}

func TestBucketsByHand(t *testing.T) {
	for _, c := range []struct {
		m    *Metric
		r    *Result
		want float64 // NaN for no figure
	}{
		{Jain, bucketsInto(2, 50, 50), 100},
		{Jain, bucketsInto(2, 0, 50), 50}, // of 20 ms
		{Jain, bucketsInto(2, 0, 50, 50, 0), 50},
		{Jain, bucketsInto(2, 0, 50, 25, 25), 75}, // the mean
		{Jain, bucketsInto(4, 0, 0, 400, 0), 25},
		{Jain, bucketsInto(2, 60, 20), 80}, // 6400 / (2 · 4000)
		{Jain, bucketsInto(3, 2, 1, 1), 100},
		{Jain, bucketsInto(3, 0, 0, 4), 100. / 3 / (16. / 18)},       // at most 16 / (3 · 6)
		{Jain, bucketsInto(4, 1, 1, 1, 0), math.NaN()},               // fewer acquisitions than workers
		{Jain, bucketsInto(2, 0, 0, 30, 10), 80},                     // nobody was served: the bucket is inconclusive
		{Jain, bucketsInto(2, 0, 0, 0, 1, 30, 10), math.NaN()},       // most are inconclusive
		{Jain, bucketsInto(2), math.NaN()},                           // the window was shorter than a bucket
		{Jain, bucketsInto(1, 50), math.NaN()},                       // nothing to share
		{Jain, bucketsInto(2, 50, 50, 50), math.NaN()},               // damaged
		{Jain, bucketsInto(0, 50), math.NaN()},                       //
		{Jain, setServed(bucketsInto(2, 0, 30, 30, 0)), math.NaN()},  // shorter than 60 ms
		{Jain, setServed(bucketsInto(2, 0, 30, 30, 0, 10, 10)), 100}, // over 60 ms
		{Jain, setServed(bucketsInto(2, 0, 30, 30, 0, 10, 10, 0, 99)), 100},

		{Starved, bucketsInto(2, 50, 50), 0},
		{Starved, bucketsInto(2, 0, 50, 1, 1), 25},
		{Starved, bucketsInto(2, 0, 0), 100}, // nobody was served
		{Starved, bucketsInto(2), math.NaN()},
		{Starved, bucketsInto(1, 50), math.NaN()},
		{Starved, setServed(bucketsInto(2, 0, 5, 1, 5, 0, 5)), 0},
		{Starved, setServed(bucketsInto(2, 0, 5, 0, 5, 0, 5)), 50},
		{Starved, setDemand(bucketsInto(2, 0, 5), time.Millisecond, time.Millisecond), 50},
		{Starved, setDemand(bucketsInto(2, 0, 5), time.Millisecond, 2*time.Millisecond), math.NaN()}, // it did not ask
		{Starved, setDemand(bucketsInto(2, 0, 5), 3*time.Millisecond, 0), math.NaN()},
		{Starved, setServed(setDemand(bucketsInto(2, 0, 5, 0, 5, 0, 5), 3*time.Millisecond, 0)), 50},

		{Unserved, &Result{Unserved: 7}, 7}, {Unserved, bucketsInto(2, 1, 1), math.NaN()},
	} {
		got, ok := c.m.Of(c.r)
		if want := !math.IsNaN(c.want); ok != want || ok && math.Abs(got-c.want) > 1e-9 {
			t.Errorf("%s of %v %v: got %v, %v; want %v", c.m.Name, len(c.r.Workers), c.r.BucketCounts, got, ok, c.want)
		}
	}
}

func TestBypassByBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 300 {
		workers, burst := 2+rng.IntN(4), 2+rng.IntN(12)
		r := &Result{Burst: burst, Workers: make([]uint64, workers)}
		for range burst * (1 + rng.IntN(3)) {
			r.Owners = append(r.Owners, uint16(rng.IntN(workers)))
		}
		want := 0
		for b := range slices.Chunk(r.Owners, burst) {
			for passed := range workers {
				for other := range workers {
					run := 0
					for _, id := range b {
						switch int(id) {
						case passed:
							run = 0
						case other:
							run++
							want = max(want, run)
						}
					}
				}
			}
		}
		if got, ok := Bypass.Of(r); !ok || got != float64(want) {
			t.Fatalf("%v in bursts of %d: got %v, %v; want %d", r.Owners, burst, got, ok, want)
		}
	}
}

func mergedResult(ops ...uint64) *Result {
	r := &Result{Workers: make([]uint64, 6), Workload: harness.Workload{Workers: 6, Ranks: 4}, Elapsed: 1e9}
	first := 0
	for i, n := range []int{2, 1, 2, 1} {
		host := "a"
		if i == 3 {
			host = "b"
		}
		r.Ranks = append(r.Ranks, Rank{Rank: i, Host: host, First: first, Workers: n, Ops: ops[i]})
		first += n
		r.Ops += ops[i]
	}
	return r
}

func TestRanks(t *testing.T) {
	logged := mergedResult(20, 10, 20, 10)
	// Within rank 0, to itself, to rank 1, to rank 2, within it, to b; the burst ends; from b, to rank 1.
	logged.Owners, logged.Burst = []uint16{0, 1, 1, 2, 3, 4, 5, 5, 0, 2, 2, 2, 2, 2}, 7
	gap, short, open := mergedResult(1, 1, 1, 1), mergedResult(20, 10, 20, 10), mergedResult(20, 10, 20, 10)
	gap.Owners, gap.Burst, gap.Ranks[3].First = []uint16{0, 5}, 2, 6
	short.Owners, short.Burst = []uint16{0, 0}, 2
	open.Workload.Rate = 10
	alone := mergedResult(20, 10, 20, 10)
	alone.Ranks = alone.Ranks[:1]
	alone.Owners, alone.Burst = logged.Owners, 7
	oneHost := mergedResult(20, 10, 20, 10)
	oneHost.Ranks[3].Host = "a"
	none := math.NaN()
	for _, c := range []struct {
		name string
		r    *Result
		want map[*Metric]float64 // NaN is no figure
	}{
		{"fair", logged, map[*Metric]float64{RankJain: 100, HostJain: 100, RankLeast: 100,
			HandoversWithin: 100 * 2. / 7, HandoversRanks: 100 * 3. / 7, HandoversHosts: 100 * 2. / 7}},
		// Per worker 10, 0, 10, 5: of the ranks 25²/(4·225); of the hosts 8 and
		// 5, 13²/(2·89); all have 45/6.
		{"one starves", mergedResult(20, 0, 20, 5), map[*Metric]float64{RankJain: 100 * 625. / 900, HostJain: 100 * 169. / 178, RankLeast: 0, HandoversWithin: none}},
		{"least", mergedResult(20, 10, 20, 5), map[*Metric]float64{RankLeast: 100 * 5 / (55. / 6)}},
		{"nothing", mergedResult(0, 0, 0, 0), map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none}},
		{"a part", alone, map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none, HandoversWithin: none, HandoversHosts: none}},
		{"one host", oneHost, map[*Metric]float64{RankJain: 100, HostJain: none}},
		{"open loop", open, map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none}},
		{"no handover", short, map[*Metric]float64{HandoversWithin: none, HandoversHosts: none}},
		{"a worker of no rank", gap, map[*Metric]float64{HandoversWithin: none}},
	} {
		for m, want := range c.want {
			got, ok := m.Of(c.r)
			if ok == math.IsNaN(want) || ok && math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %s is %v (%v), want %v", c.name, m.Name, got, ok, want)
			}
		}
	}
}

func TestUnordered(t *testing.T) {
	r := mergedResult(20, 10, 20, 10)
	r.RoundTrip = 10
	by := []*Metric{Handovers, HandoverTime, HandoverMean, HandoverShare, HandoverWaitP99, HandoverTransfers, PeriodRoundTrips, HandoverRoundTrips,
		StreakP50, LWSS, Reacquire, GapP50, Bypass, HandoversWithin, HandoversRanks, HandoversHosts}
	for _, m := range by {
		if x := m.Read(r); x.Known {
			t.Errorf("%s is %v", m.Name, x)
		}
	}
	r.Owners, r.Burst, r.Handovers = []uint16{0, 5, 0, 5}, 4, 3
	for _, m := range []*Metric{Handovers, PeriodRoundTrips} {
		if _, ok := m.Of(r); !ok {
			t.Errorf("%s is not known where the order is", m.Name)
		}
	}
}

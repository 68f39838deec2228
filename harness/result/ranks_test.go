package result

import (
	"math"
	"testing"

	"locklab/harness"
)

func merged(ops ...uint64) *harness.Result {
	r := &harness.Result{Workers: make([]uint64, 6), Workload: harness.Workload{Workers: 6, Ranks: 4}, Elapsed: 1e9}
	first := 0
	for i, n := range []int{2, 1, 2, 1} {
		host := "a"
		if i == 3 {
			host = "b"
		}
		r.Ranks = append(r.Ranks, harness.Rank{Rank: i, Host: host, First: first, Workers: n, Ops: ops[i]})
		first += n
		r.Ops += ops[i]
	}
	return r
}

func TestRanks(t *testing.T) {
	logged := merged(20, 10, 20, 10)
	// Within rank 0, to itself, to rank 1, to rank 2, within it, to b; the burst ends; from b, to rank 1.
	logged.Owners, logged.Burst = []uint16{0, 1, 1, 2, 3, 4, 5, 5, 0, 2, 2, 2, 2, 2}, 7
	gap, short, open := merged(1, 1, 1, 1), merged(20, 10, 20, 10), merged(20, 10, 20, 10)
	gap.Owners, gap.Burst, gap.Ranks[3].First = []uint16{0, 5}, 2, 6
	short.Owners, short.Burst = []uint16{0, 0}, 2
	open.Workload.Rate = 10
	alone := merged(20, 10, 20, 10)
	alone.Ranks = alone.Ranks[:1]
	alone.Owners, alone.Burst = logged.Owners, 7
	oneHost := merged(20, 10, 20, 10)
	oneHost.Ranks[3].Host = "a"
	none := math.NaN()
	for _, c := range []struct {
		name string
		r    *harness.Result
		want map[*Metric]float64 // NaN is no figure
	}{
		{"fair", logged, map[*Metric]float64{RankJain: 100, HostJain: 100, RankLeast: 100,
			HandoversWithin: 100 * 2. / 7, HandoversRanks: 100 * 3. / 7, HandoversHosts: 100 * 2. / 7}},
		// Per worker 10, 0, 10, 5: of the ranks 25²/(4·225); of the hosts 8 and
		// 5, 13²/(2·89); all have 45/6.
		{"one starves", merged(20, 0, 20, 5), map[*Metric]float64{RankJain: 100 * 625. / 900, HostJain: 100 * 169. / 178, RankLeast: 0, HandoversWithin: none}},
		{"least", merged(20, 10, 20, 5), map[*Metric]float64{RankLeast: 100 * 5 / (55. / 6)}},
		{"nothing", merged(0, 0, 0, 0), map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none}},
		{"a part", alone, map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none, HandoversWithin: none, HandoversHosts: none}},
		{"one host", oneHost, map[*Metric]float64{RankJain: 100, HostJain: none}},
		{"open loop", open, map[*Metric]float64{RankJain: none, HostJain: none, RankLeast: none}},
		{"no hand-over", short, map[*Metric]float64{HandoversWithin: none, HandoversHosts: none}},
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
	r := merged(20, 10, 20, 10)
	r.RoundTrip = 10
	by := []*Metric{Handovers, HandoverTime, HandoverMean, HandoverShare, HandoverWaitP99, HandoverTransfers, TurnRoundTrips, HandoverRoundTrips,
		StreakP50, LWSS, Reacquire, GapP50, Bypass, HandoversWithin, HandoversRanks, HandoversHosts}
	for _, m := range by {
		if x := m.Read(r); x.Known {
			t.Errorf("%s is %v", m.Name, x)
		}
	}
	r.Owners, r.Burst, r.Handovers = []uint16{0, 5, 0, 5}, 4, 3
	for _, m := range []*Metric{Handovers, TurnRoundTrips} {
		if _, ok := m.Of(r); !ok {
			t.Errorf("%s is not known where the order is", m.Name)
		}
	}
}

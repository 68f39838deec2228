package result

import (
	"slices"
	"sort"

	"locklab/harness"
	"locklab/internal/stat"
)

// RankJain is Jain's fairness index between the ranks of a case, the processes that share
// its workers, in percent. For the acquisitions per worker x of each of n ranks it is 100
// · (Σx)² / (n · Σx²), over the window. It exists for merged results only. It is low if
// workers of one process are served before others, even if each process is fair inside.
//
// Source: as [Jain].
var RankJain = perRank("rank-jain", "jain-rank-%", "Jain's fairness index of acquisitions per worker between ranks", "Jain, Chiu & Hawe 1984",
	func(k harness.Rank) any { return k.Rank }, betweenGroups)

// HostJain is [RankJain] between hosts: the ranks of a host count as one.
var HostJain = perRank("host-jain", "jain-host-%", "Jain's fairness index of acquisitions per worker between hosts", "Jain, Chiu & Hawe 1984",
	func(k harness.Rank) any { return k.Host }, betweenGroups)

func betweenGroups(each []float64, _ float64) float64 { return 100 * stat.Jain(each) }

// RankLeast is the share of its fair share that the least served rank got, in percent:
// its acquisitions per worker relative to all ranks together. 100 is fair, 0 is a process
// whose workers got nothing in the window. It exists for merged results only.
//
// Source: the least share as the criterion of max-min fairness: D. Bertsekas, R.
// Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2. An index such as
// [RankJain] can be near 100 % while one of many gets nothing.
var RankLeast = perRank("rank-least", "rank-least-%", "acquisitions per worker of the least served rank over those of all", "Bertsekas & Gallager 1992",
	func(k harness.Rank) any { return k.Rank },
	func(each []float64, all float64) float64 { return 100 * slices.Min(each) / all })

// perRank returns a metric of the acquisitions per worker of each group of ranks with
// equal place, in the order of their first rank, and of all ranks together. It has no
// figure if a result was not merged, nothing was acquired, or there is one group.
func perRank(name, unit, doc, paper string, place func(k harness.Rank) any, of func(each []float64, all float64) float64) *Metric {
	return closed(metric(name, unit, doc, paper, Higher, func(r *harness.Result) (float64, bool) {
		type sum struct{ ops, workers float64 }
		var places []any
		at, all := make(map[any]sum), sum{}
		for _, k := range r.Ranks {
			if k.Workers < 1 {
				return 0, false
			}
			p, ops, workers := place(k), float64(k.Ops), float64(k.Workers)
			if _, seen := at[p]; !seen {
				places = append(places, p)
			}
			at[p] = sum{at[p].ops + ops, at[p].workers + workers}
			all = sum{all.ops + ops, all.workers + workers}
		}
		var each []float64
		for _, p := range places {
			each = append(each, at[p].ops/at[p].workers)
		}
		if len(each) < 2 || all.ops == 0 {
			return 0, false
		}
		return of(each, all.ops/all.workers), true
	}))
}

// The distance of handovers in the owner log, in percent: between two workers of one
// rank, which is one process; between two ranks of one host; between two hosts. The three
// add up to 100. They exist for merged results only, and are missing if the order of the
// holds over all ranks is unknown. A lock that ignores processes hands over within one by
// chance: with n ranks of equally many workers about once in n.
//
// Source: the node hand-offs of Z. Radović, E. Hagersten, "Hierarchical Backoff Locks for
// Nonuniform Communication Architectures", HPCA 2003, between processes and hosts in
// place of nodes.
var (
	HandoversWithin = locality("handovers-within", "rank-handover-%", "share of the hand-overs between workers of one rank", withinRank)
	HandoversRanks  = locality("handovers-ranks", "ranks-handover-%", "share of the hand-overs between ranks of one host", betweenRanks)
	HandoversHosts  = locality("handovers-hosts", "hosts-handover-%", "share of the hand-overs between hosts", betweenHosts)
)

type distance int

const (
	withinRank distance = iota
	betweenRanks
	betweenHosts
)

func locality(name, unit, doc string, d distance) *Metric {
	return metric(name, unit, doc, "Radović & Hagersten 2003", "", func(r *harness.Result) (float64, bool) {
		counts, ok := distances(r)
		share, some := ratio(100*float64(counts[d]), float64(counts[withinRank]+counts[betweenRanks]+counts[betweenHosts]))
		return share, ok && some
	})
}

func distances(r *harness.Result) (counts [betweenHosts + 1]int, ok bool) {
	log := owners{r.Owners, r.Burst, len(r.Workers)}
	if len(r.Ranks) < 2 || !log.valid() {
		return counts, false
	}
	of := make([]harness.Rank, len(r.Workers))
	for i := range of {
		k := sort.Search(len(r.Ranks), func(k int) bool { return r.Ranks[k].First > i }) - 1
		if k < 0 || i >= r.Ranks[k].First+r.Ranks[k].Workers {
			return counts, false // a worker of no rank
		}
		of[i] = r.Ranks[k]
	}
	for burst := range log.bursts() {
		for i := 1; i < len(burst); i++ {
			a, b := of[burst[i-1]], of[burst[i]]
			switch {
			case burst[i-1] == burst[i]:
			case a.Rank == b.Rank:
				counts[withinRank]++
			case a.Host == b.Host:
				counts[betweenRanks]++
			default:
				counts[betweenHosts]++
			}
		}
	}
	return counts, true
}

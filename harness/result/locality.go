package result

import (
	"sort"

	"locklab/harness"
)

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
	return &Metric{Name: name, Unit: unit, Doc: doc, Paper: "Radović & Hagersten 2003", Better: "",
		Of: func(r *harness.Result) (float64, bool) {
			counts, ok := distances(r)
			total := counts[withinRank] + counts[betweenRanks] + counts[betweenHosts]
			if !ok || total == 0 {
				return 0, false
			}
			return 100 * float64(counts[d]) / float64(total), true
		}}
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

package result

import (
	"cmp"
	"iter"
	"math"
	"slices"
	"sort"
	"time"

	"locklab/harness"
	"locklab/internal/stat"
)

// long returns a metric of the acquisitions of all workers in the window, in descending order.
func long(name, unit, doc, paper, better string, of func(desc []float64, sum float64) float64) *Metric {
	return closed(metric(name, unit, doc, paper, better, func(r *Result) (float64, bool) {
		desc := Each(r.Workers, func(n uint64) float64 { return float64(n) })
		slices.SortFunc(desc, func(a, b float64) int { return cmp.Compare(b, a) })
		sum := sumOf(desc)
		if len(desc) < 2 || sum == 0 {
			return 0, false
		}
		return of(desc, sum), true
	}))
}

// BusyHalf is the fairness factor, in percent: the share of acquisitions by the busier half of
// the workers, 50 to 100. With an odd number, the middle one counts half.
//
// Source: D. Dice, A. Kogan, "Compact NUMA-aware Locks", EuroSys 2019, §7.
var BusyHalf = long("busy-half", "busyhalf-%", "share of the acquisitions taken by the busier half of the workers", "Dice & Kogan 2019", Lower,
	func(desc []float64, sum float64) float64 {
		half := len(desc) / 2
		top := sumOf(desc[:half])
		if len(desc)%2 == 1 {
			top += desc[half] / 2
		}
		return 100 * top / sum
	})

// Spread is the standard deviation of the workers' acquisitions divided by their mean, in
// percent, over the workers as a whole population: 0 is fair. It is equivalent to
// [WindowJain], which is 100 / (1 + (Spread/100)²), but shows small differences better.
//
// Source: the RSTDDEV of D. Dice, "Malthusian Locks", EuroSys 2017.
var Spread = long("spread", "rstdev-%", "standard deviation of the workers' acquisitions over their mean", "Dice 2017", Lower,
	func(desc []float64, _ float64) float64 { return 100 * math.Sqrt(max(0, 1/stat.Jain(desc)-1)) })

// MinMax is the least served worker's acquisitions over the best served one's, in percent.
//
// Source: the fairness check of Linux, kernel/locking/locktorture.c, which reports the
// greatest and least number of acquisitions of a writer.
var MinMax = long("min-max", "minmax-%", "acquisitions of the least served worker over those of the best served", "Linux locktorture", Higher,
	func(desc []float64, _ float64) float64 { return 100 * desc[len(desc)-1] / desc[0] })

// Jain is Jain's fairness index of the workers' acquisitions x within buckets of one length, in
// percent, the mean of the buckets of the window: 100 · (Σx)² / (n · Σx²). It is 100 if all n
// workers got the same in each bucket and 100/n if one got everything: 40 % reads "as if 40 %
// of the workers shared the lock equally". An index over the window would rise with its
// length. A bucket lasts 20 ms, or 60 ms for a distributed lock, the shortest windows of a
// budget. The mean, unlike a median, does not depend on the number of buckets.
//
// The index of a bucket is relative to the highest that its number of acquisitions allows,
// since counts are whole: a lock that serves in turn has 100. That corrects less than 0.1
// points at 20 acquisitions per worker, 11 % at one and a half. A bucket with fewer
// acquisitions than workers is inconclusive and left out. If more are left out than remain,
// fairness is unknown, as in a window shorter than a bucket.
//
// Source: R. Jain, D. Chiu, W. Hawe, "A Quantitative Measure of Fairness and Discrimination
// for Resource Allocation in Shared Computer Systems", DEC-TR-301, 1984. Over windows of one
// length, there of packets: C. Koksal, H. Kassab, H. Balakrishnan, "An Analysis of Short-Term
// Fairness in Wireless Media Access Protocols", SIGMETRICS 2000.
var Jain = metric("jain", "jain-bucket-%",
	"Jain's fairness index within buckets of 20 ms (60 ms of distributed locks): 100 is equal shares, 100/workers is one owner", "Jain, Chiu & Hawe 1984", Higher,
	func(r *Result) (float64, bool) {
		var total float64
		known, all := 0, 0
		for counts := range bucketed(r) {
			all++
			if n := sumOf(counts); n >= float64(len(counts)) {
				known++
				total += stat.Jain(counts) / mostJain(n, float64(len(counts)))
			}
		}
		if known == 0 || 2*known < all {
			return 0, false
		}
		return 100 * total / float64(known), true
	})

// WindowJain is [Jain] of the window as a whole: the shares over the window's own length,
// which differs between runs. It is for runs without buckets.
var WindowJain = long("window-jain", "jain-%",
	"Jain's fairness index over the window, whatever its length: not to be compared between windows of different lengths",
	"Jain, Chiu & Hawe 1984", Higher,
	func(desc []float64, _ float64) float64 { return 100 * stat.Jain(desc) })

// mostJain returns the highest index that n acquisitions can have with this many workers,
// n >= workers: no two counts differ by more than one.
func mostJain(n, workers float64) float64 {
	least := float64(int(n / workers))
	more := n - least*workers // workers with one acquisition more
	return n * n / (workers * (more*(least+1)*(least+1) + (workers-more)*least*least))
}

func sumOf(xs []float64) (sum float64) {
	for _, x := range xs {
		sum += x
	}
	return sum
}

// Starved is the share of the workers' buckets without a finished acquisition, in percent: the
// worker waited, for the lock or a processor. If holds and thinks take a tenth of a bucket or
// more, there is no figure.
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime (runtime/runtime_test.go),
// which weights the stretches without a worker by time; here they are compared with one
// length.
var Starved = metric("starved", "starved-%",
	"share of the workers' buckets of 20 ms (60 ms of distributed locks) in which a worker finished no acquisition", "Go runtime, BenchmarkMutexCapture", Lower,
	func(r *Result) (float64, bool) {
		if asking := r.Workload.Hold.Mean + r.Workload.Think.Mean; 10*asking > scale(r) {
			return 0, false
		}
		var starved, all float64
		for counts := range bucketed(r) {
			for _, n := range counts {
				if all++; n == 0 {
					starved++
				}
			}
		}
		return ratio(100*starved, all)
	})

// Unserved is the longest time of the window without a finished acquisition of a worker,
// in ns: the time between two of its stop checks, which follow each acquisition that
// takes long. It grows with the window.
//
// Source: as [Starved].
var Unserved = metric("unserved", "unserved-ns",
	"longest time in which a worker finished no acquisition: it is one moment, and no longer than the window", "Go runtime, BenchmarkMutexCapture", Lower,
	func(r *Result) (float64, bool) { return float64(r.Unserved), r.Unserved > 0 })

// scale returns the shortest window of a budget, so that every window has a bucket.
func scale(r *Result) time.Duration {
	if r.Lock.Traits.Needs != "" {
		return 3 * harness.BucketLength
	}
	return harness.BucketLength
}

// bucketed yields each worker's acquisitions in each bucket of r, reused. It yields nothing with
// fewer than two workers, or inconsistent data.
func bucketed(r *Result) iter.Seq[[]float64] {
	return func(yield func([]float64) bool) {
		workers := len(r.Workers)
		if workers < 2 || len(r.BucketCounts)%workers != 0 {
			return
		}
		counts := make([]float64, workers)
		whole := workers * int(scale(r)/harness.BucketLength)
		for block := range slices.Chunk(r.BucketCounts, whole) {
			if len(block) < whole {
				return
			}
			clear(counts)
			for i, n := range block {
				counts[i%workers] += float64(n)
			}
			if !yield(counts) {
				return
			}
		}
	}
}

// RankJain is Jain's fairness index between the ranks of a case, the processes that share
// its workers, in percent. For the acquisitions per worker x of each of n ranks it is 100
// · (Σx)² / (n · Σx²), over the window. It exists for merged results only. It is low if
// workers of one process are served before others, even if each process is fair inside.
//
// Source: as [Jain].
var RankJain = perRank("rank-jain", "jain-rank-%", "Jain's fairness index of acquisitions per worker between ranks", "Jain, Chiu & Hawe 1984",
	func(k Rank) any { return k.Rank }, betweenGroups)

// HostJain is [RankJain] between hosts: the ranks of a host count as one.
var HostJain = perRank("host-jain", "jain-host-%", "Jain's fairness index of acquisitions per worker between hosts", "Jain, Chiu & Hawe 1984",
	func(k Rank) any { return k.Host }, betweenGroups)

func betweenGroups(each []float64, _ float64) float64 { return 100 * stat.Jain(each) }

// RankLeast is the share of its fair share that the least served rank got, in percent:
// its acquisitions per worker relative to all ranks together. 100 is fair, 0 is a process
// whose workers got nothing in the window. It exists for merged results only.
//
// Source: the least share as the criterion of max-min fairness: D. Bertsekas, R.
// Gallager, "Data Networks", 2nd edition, 1992, section 6.5.2. An index such as
// [RankJain] can be near 100 % while one of many gets nothing.
var RankLeast = perRank("rank-least", "rank-least-%", "acquisitions per worker of the least served rank over those of all", "Bertsekas & Gallager 1992",
	func(k Rank) any { return k.Rank },
	func(each []float64, all float64) float64 { return 100 * slices.Min(each) / all })

// perRank returns a metric of the acquisitions per worker of each group of ranks with
// equal place, in the order of their first rank, and of all ranks together. It has no
// figure if a result was not merged, nothing was acquired, or there is one group.
func perRank(name, unit, doc, paper string, place func(k Rank) any, of func(each []float64, all float64) float64) *Metric {
	return closed(metric(name, unit, doc, paper, Higher, func(r *Result) (float64, bool) {
		type sum struct{ ops, workers float64 }
		var all sum
		var each []float64
		for _, ks := range GroupBy(r.Ranks, place) {
			var of sum
			for _, k := range ks {
				if k.Workers < 1 {
					return 0, false
				}
				of = sum{of.ops + float64(k.Ops), of.workers + float64(k.Workers)}
			}
			all = sum{all.ops + of.ops, all.workers + of.workers}
			each = append(each, of.ops/of.workers)
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
	HandoversWithin = locality("handovers-within", "rank-handover-%", "share of the handovers between workers of one rank", withinRank)
	HandoversRanks  = locality("handovers-ranks", "ranks-handover-%", "share of the handovers between ranks of one host", betweenRanks)
	HandoversHosts  = locality("handovers-hosts", "hosts-handover-%", "share of the handovers between hosts", betweenHosts)
)

type distance int

const (
	withinRank distance = iota
	betweenRanks
	betweenHosts
)

func locality(name, unit, doc string, d distance) *Metric {
	return metric(name, unit, doc, "Radović & Hagersten 2003", "", func(r *Result) (float64, bool) {
		counts, ok := distances(r)
		share, some := ratio(100*float64(counts[d]), float64(counts[withinRank]+counts[betweenRanks]+counts[betweenHosts]))
		return share, ok && some
	})
}

func distances(r *Result) (counts [betweenHosts + 1]int, ok bool) {
	log := owners{r.Owners, r.Burst, len(r.Workers)}
	if len(r.Ranks) < 2 || !log.valid() {
		return counts, false
	}
	of := make([]Rank, len(r.Workers))
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

package result

import (
	"iter"
	"math"
	"slices"

	"locklab/internal/stat"
)

// Short-term fairness comes from the owner log. Gaps between its bursts are unknown, so no run
// or wait exceeds a burst. "Time" is counted in acquisitions.

func short(name, unit, doc, paper, better string, of func(log owners) (float64, bool)) *Metric {
	return metric(name, unit, doc, paper, better, func(r *Result) (float64, bool) {
		log := owners{r.Owners, r.Burst, len(r.Workers)}
		if !log.valid() {
			return 0, false
		}
		return of(log)
	})
}

type owners struct {
	ids     []uint16
	burst   int
	workers int
}

func (o owners) valid() bool {
	return o.workers > 1 && o.burst > 1 && len(o.ids) >= o.burst &&
		int(slices.Max(o.ids)) < o.workers
}

func (o owners) bursts() iter.Seq[[]uint16] {
	return func(yield func([]uint16) bool) {
		for b := range slices.Chunk(o.ids, o.burst) {
			if len(b) < o.burst || !yield(b) {
				return
			}
		}
	}
}

func stretch(name, doc, better string, lengths func(owners) []int, q float64) *Metric {
	return short(name, name, doc, "Go runtime, BenchmarkMutexCapture", better,
		func(log owners) (float64, bool) { return weighted(lengths(log), q), true })
}

// weighted returns the least length such that stretches up to it have a share q of all time.
func weighted(lengths []int, q float64) float64 {
	slices.Sort(lengths)
	h := Histogram(Each(lengths, func(n int) Bucket { return Bucket{Value: int64(n), N: 1} }))
	return h.TimeQuantile(q)
}

// The streaks are the numbers of consecutive acquisitions by one worker, weighted by time. A
// lock that is always handed over has 1. A figure of the length of a burst means "at least".
//
// Source: the "streak" of BenchmarkMutexCapture in the Go runtime (runtime/runtime_test.go),
// which converts to ns and gives lower bounds of powers of two; these are exact, and in
// acquisitions.
var (
	StreakP50 = stretch("streak-p50", "half of the time falls into runs by one worker no longer than this, in acquisitions", "", streaks, 0.5)
	StreakP99 = stretch("streak-p99", "99 % of the time falls into runs by one worker no longer than this, in acquisitions", "", streaks, 0.99)
)

func streaks(log owners) (lengths []int) {
	for burst := range log.bursts() {
		start := 0
		for i := 1; i <= len(burst); i++ {
			if i == len(burst) || burst[i] != burst[start] {
				lengths = append(lengths, i-start)
				start = i
			}
		}
	}
	return lengths
}

// The gaps are the numbers of acquisitions by others between two of a worker, weighted by
// time: the wait around a random moment. Strict rotation gives workers-1. A worker that a
// burst lacks counts as the burst, so a figure of that length means "at least".
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime (runtime/runtime_test.go),
// over whole threads, in ns and powers of two; these are exact, and in acquisitions.
var (
	GapP50 = stretch("gap-p50", "half of the workers' time falls into waits no longer than this, in acquisitions by others", Lower, gaps, 0.5)
	GapP99 = stretch("gap-p99", "99 % of the workers' time falls into waits no longer than this, in acquisitions by others", Lower, gaps, 0.99)
)

func gaps(log owners) []int { return between(log, true) }

// between returns the numbers of acquisitions between two of a worker, and with ends also the
// numbers before the first and after the last of each worker in each burst.
func between(log owners, ends bool) (lengths []int) {
	for burst := range log.bursts() {
		last := make([]int, log.workers) // 1 + where each worker was last seen
		for i, id := range burst {
			if ends || last[id] > 0 {
				lengths = append(lengths, i-last[id])
			}
			last[id] = i + 1
		}
		for _, seen := range last {
			if ends {
				lengths = append(lengths, len(burst)-seen)
			}
		}
	}
	return lengths
}

// Reacquire is the median number of acquisitions by others between two of the same worker.
// Strict rotation gives workers-1, an owner that mostly reacquires at once 0. Each pair counts
// once, so starving workers hardly matter: see [GapP99].
//
// Source: the MTTR of D. Dice, "Measuring short-term fairness for locks", 2014.
var Reacquire = short("reacquire", "mttr-acq",
	"median number of acquisitions by others between two of the same worker",
	"Dice 2014", "",
	func(log owners) (float64, bool) {
		counts := Each(between(log, false), func(n int) float64 { return float64(n) })
		return stat.Median(counts), len(counts) > 0
	})

// LWSS is the lock working set, in percent of the workers: the different holders in as many
// acquisitions as there are workers, averaged over disjoint windows. Rotation gives 100,
// random choice about 63, one owner 100/workers.
//
// Source: D. Dice, "Measuring short-term fairness for locks", 2014, and "Malthusian Locks",
// EuroSys 2017, which do not fix the window; one round makes numbers of workers comparable.
var LWSS = short("working-set", "lwss-%",
	"share of the workers that hold the lock within as many acquisitions as there are workers",
	"Dice 2014", "",
	func(log owners) (float64, bool) {
		last := make([]int, log.workers) // the window in which each worker was last seen
		windows, distinct := 0, 0
		for burst := range log.bursts() {
			for ; len(burst) >= log.workers; burst = burst[log.workers:] {
				windows++
				for _, id := range burst[:log.workers] {
					if last[id] != windows {
						last[id] = windows
						distinct++
					}
				}
			}
		}
		return ratio(100*float64(distinct), float64(windows*log.workers))
	})

// The bypass of a stretch, from a worker's acquisition to its next, is the number of times
// that ONE other worker, the most frequent one, took the lock. A FIFO lock has at most 1 if
// every worker asks again at once; a lock that lets newcomers pass has no bound.
//
// The log holds grants, not requests, so the figures are upper bounds: with think time, or
// more workers than processors, a fair lock exceeds 1. Compare with a fair lock's figures. A
// stretch cut by a burst's end counts up to there; one without others does not count.
//
// Source: the bounded bypass of J. Burns, P. Jackson, N. Lynch, M. Fischer, G. Peterson, "Data
// Requirements for Implementation of N-Process Mutual Exclusion Using a Single Shared
// Variable", JACM 29(1), 1982.
var (
	// Bypass is the greatest: one worker that briefly lost its processor determines it.
	Bypass = short("bypass", "bypass-acq",
		"greatest number of times one other worker took the lock between two acquisitions of a worker",
		"Burns et al. 1982", Lower,
		func(log owners) (float64, bool) { return bypass(log, 1), true })
	// BypassP99 leaves the worst hundredth of the stretches out.
	BypassP99 = short("bypass-p99", "bypass-p99",
		"in 99 of 100 stretches between two acquisitions of a worker no other took the lock more often",
		"Burns et al. 1982", Lower,
		func(log owners) (float64, bool) { return bypass(log, 0.99), true })
)

func bypass(log owners, q float64) float64 {
	passed := make([]int, log.burst+1) // stretches, by bypass
	times := make([]int, log.workers)
	for burst := range log.bursts() {
		last := make([]int, log.workers) // 1 + where each worker was last seen
		distinct := 0                    // from here to i no worker occurs twice
		for i, id := range burst {
			if last[id] >= distinct { // usually true for a fair lock
				passed[min(1, i-last[id])]++
			} else {
				passed[mostFrequent(times, burst[last[id]:i])]++
			}
			distinct = max(distinct, last[id])
			last[id] = i + 1
		}
		never := 0
		for _, seen := range last {
			if seen == 0 {
				never++
			} else {
				passed[mostFrequent(times, burst[seen:])]++
			}
		}
		passed[mostFrequent(times, burst)] += never
	}
	passed[0] = 0 // no others in between
	total := 0
	for _, n := range passed {
		total += n
	}
	rank := int(math.Ceil(q * float64(total)))
	for times, n := range passed {
		if rank -= n; rank <= 0 {
			return float64(times)
		}
	}
	return math.NaN()
}

// mostFrequent overwrites times, which has an element for each worker.
func mostFrequent(times []int, ids []uint16) (most int) {
	clear(times)
	for _, id := range ids {
		times[id]++
		most = max(most, times[id])
	}
	return most
}

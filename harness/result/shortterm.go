package result

import (
	"iter"
	"math"
	"slices"

	"locklab/harness"
	"locklab/internal/stat"
)

// Short-term fairness comes from the owner log: the workers that held the lock, in order, in
// bursts of consecutive acquisitions. The gap between two bursts is unknown, so a run or a
// wait longer than a burst counts as one burst. "Time" is counted in acquisitions throughout.

func short(name, unit, doc, paper, better string, of func(log owners) (float64, bool)) *Metric {
	return metric(name, unit, doc, paper, better, func(r *harness.Result) (float64, bool) {
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

// valid reports whether there is a log of at least two workers that names only those.
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

// stretch returns a metric of the lengths of stretches: the quantile q, weighted by time.
func stretch(name, doc, better string, lengths func(owners) []int, q float64) *Metric {
	return short(name, name, doc, "Go runtime, BenchmarkMutexCapture", better,
		func(log owners) (float64, bool) { return weighted(lengths(log), q), true })
}

// weighted returns the least length such that a share q of all time is spent in stretches
// no longer than it. It reorders lengths.
func weighted(lengths []int, q float64) float64 {
	slices.Sort(lengths)
	var total, seen float64
	for _, n := range lengths {
		total += float64(n)
	}
	for _, n := range lengths {
		if seen += float64(n); seen >= q*total {
			return float64(n)
		}
	}
	return math.NaN()
}

// The streaks are the numbers of consecutive acquisitions by the same worker, weighted by
// time. The median is the length of the run around a random moment. A lock that is handed
// over every time has 1. A streak is cut by an end of a burst of the log, so a figure of
// the length of a burst means "at least".
//
// Source: the "streak" of BenchmarkMutexCapture in the Go runtime (runtime/runtime_test.go).
// It also weights by time and converts to ns by the mean time of an acquisition. Its
// percentiles are the lower bounds of powers of two; these are exact, and in acquisitions.
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

// The gaps are the numbers of acquisitions by others between two acquisitions of a
// worker, weighted by time. Pick a worker and a moment at random: half of the time the
// gap around it is no longer than the median. Strict rotation gives workers-1. A worker
// that never appears in a burst waited for at least the whole burst, and counts as that.
// So a figure cannot exceed the length of a burst, and means "at least" if it reaches it.
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime
// (runtime/runtime_test.go). It also weights by time, over whole threads, and converts to
// ns by the mean time of an acquisition. Its percentiles are the lower bounds of powers
// of two; these are exact, and in acquisitions.
var (
	GapP50 = stretch("gap-p50", "half of the workers' time falls into waits no longer than this, in acquisitions by others", Lower, gaps, 0.5)
	GapP99 = stretch("gap-p99", "99 % of the workers' time falls into waits no longer than this, in acquisitions by others", Lower, gaps, 0.99)
)

func gaps(log owners) (lengths []int) {
	add := func(n int) {
		if n > 0 {
			lengths = append(lengths, n)
		}
	}
	for burst := range log.bursts() {
		last := make([]int, log.workers) // 1 + where each worker was last seen
		for i, id := range burst {
			add(i - last[id])
			last[id] = i + 1
		}
		for _, seen := range last {
			add(len(burst) - seen)
		}
	}
	return lengths
}

// Reacquire is the median time to reacquire: the number of acquisitions by others between two
// of the same worker. Strict rotation gives workers-1; a lock that an owner mostly reacquires
// at once gives 0. Each pair of successive acquisitions counts once, regardless of its
// duration, so starving workers hardly affect it: see [GapP99] for them.
//
// Source: the MTTR of D. Dice, "Measuring short-term fairness for locks", 2014.
var Reacquire = short("reacquire", "mttr-acq",
	"median number of acquisitions by others between two of the same worker",
	"Dice 2014", "",
	func(log owners) (float64, bool) {
		var between []float64
		for burst := range log.bursts() {
			last := make([]int, log.workers) // 1 + where each worker was last seen
			for i, id := range burst {
				if last[id] > 0 {
					between = append(between, float64(i-last[id]))
				}
				last[id] = i + 1
			}
		}
		return stat.Median(between), len(between) > 0
	})

// LWSS is the size of the lock working set, in percent of the workers: the number of
// different workers that hold the lock in a window of as many acquisitions as there are
// workers, averaged over disjoint windows. Strict rotation gives 100, random choice about
// 63, one owner 100/workers.
//
// Source: D. Dice, "Measuring short-term fairness for locks", 2014, and "Malthusian
// Locks", EuroSys 2017, which do not fix the length of the window. A window of one round
// of all workers makes the figure comparable between numbers of workers.
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

// The bypass of a stretch, from an acquisition of a worker to its next, is the number of
// times that ONE other worker took the lock in it: the most frequent one. A FIFO lock has
// at most 1 if every worker asks again at once: a later request is not served twice
// before it. A lock that lets newcomers pass has no bound.
//
// The log holds grants, not requests, so the figures are upper bounds. Acquisitions by
// others also count while a worker thinks, or has no processor between its release and
// its next request. With think time, or more workers than processors, a fair lock exceeds
// 1; compare with a fair lock's figures.
//
// A stretch that is cut by an end of a burst counts up to there. So a worker that starves
// through a burst counts too, and no figure exceeds the length of a burst. Stretches
// without others are reacquisitions by the owner, and do not count.
//
// Source: the bounded bypass of J. Burns, P. Jackson, N. Lynch, M. Fischer, G. Peterson,
// "Data Requirements for Implementation of N-Process Mutual Exclusion Using a Single
// Shared Variable", JACM 29(1), 1982.
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
	c := counter{times: make([]uint64, log.workers)}
	for burst := range log.bursts() {
		last := make([]int, log.workers) // 1 + where each worker was last seen
		distinct := 0                    // from here to i no worker occurs twice
		for i, id := range burst {
			if last[id] >= distinct { // usually true for a fair lock
				passed[min(1, i-last[id])]++
			} else {
				passed[c.most(burst[last[id]:i])]++
			}
			distinct = max(distinct, last[id])
			last[id] = i + 1
		}
		never := 0
		for _, seen := range last {
			if seen == 0 {
				never++
			} else {
				passed[c.most(burst[seen:])]++
			}
		}
		passed[c.most(burst)] += never
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

// A counter finds how often the most frequent worker of a stretch occurs. It is fast for
// many short stretches: nothing is cleared between them.
type counter struct {
	times []uint64 // by worker: the number of the stretch, and its occurrences there
	now   uint64   // number of the stretch, in the upper half
}

func (c *counter) most(ids []uint16) int {
	const half = 32
	c.now += 1 << half
	most := c.now
	for _, id := range ids {
		n := max(c.times[id], c.now) + 1
		c.times[id] = n
		most = max(most, n)
	}
	return int(most - c.now)
}

package metric

import "math"

// The bypass of a stretch, from an acquisition of a worker to its next: how
// many times ONE other worker took the lock in it, the one that took it most. A
// lock that serves in order of arrival gives at most 1 as long as every worker
// asks again at once: a worker that asks later is not served twice before it.
// There is no bound for a lock that lets newcomers pass.
//
// The log holds grants, not requests, so the figures are upper bounds of how
// often a waiting worker was passed: what others do while a worker thinks, or
// has no processor between its release and its next request, counts too. With
// think time, or more workers than processors, they are above 1 for a fair lock,
// and are to be compared with those of one.
//
// A stretch that is cut by an end of a burst counts as far as it is seen, so a
// worker that starves through a burst counts too, and no figure is above the
// length of a burst. Stretches in which no other came are those of an owner
// that took the lock back, and do not count.
//
// Source: the bounded bypass of J. Burns, P. Jackson, N. Lynch, M. Fischer,
// G. Peterson, "Data Requirements for Implementation of N-Process Mutual
// Exclusion Using a Single Shared Variable", JACM 29(1), 1982.
var (
	// Bypass is the greatest: one worker that lost its processor for a moment
	// sets it.
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

// bypass returns quantile q of the bypasses, 0 if none passed another.
func bypass(log owners, q float64) float64 {
	passed := make([]int, log.burst+1) // stretches, by bypass
	c := counter{times: make([]uint64, log.workers)}
	for burst := range log.bursts() {
		last := make([]int, log.workers) // 1 + where each worker was last seen
		distinct := 0                    // from here to i no worker occurs twice
		for i, id := range burst {
			if last[id] >= distinct { // most often so, if the lock is fair
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
	passed[0] = 0 // none came between
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

// A counter finds how often the most frequent worker of a stretch occurs in it.
// It is made for many short stretches: nothing is cleared between two of them.
type counter struct {
	times []uint64 // by worker: the number of the stretch, and how often it occurred there
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

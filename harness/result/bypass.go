package result

import "math"

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
	// Bypass is the greatest: one worker that briefly lost its processor determines
	// it.
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

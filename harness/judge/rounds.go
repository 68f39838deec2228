package judge

import (
	"iter"

	"locklab/harness"
	"locklab/internal/stat"
)

// RoundsFor returns the least number of rounds for the comparisons of cases, and the number
// of compared locks in the most demanding situation.
func RoundsFor(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds, locks int) {
	for at, n := range lockCounts(cases) {
		if need := neededFor(n, at.distributed); need > rounds {
			rounds, locks = need, n
		}
	}
	return rounds, locks
}

// PlannedRounds returns the recommended number of rounds for a run of cases. It is enough
// for every interval, and for finding a difference to the baseline that all but a few
// rounds show: see [stat.SturdyRounds].
func PlannedRounds(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds int) {
	for at, n := range lockCounts(cases) {
		rounds = max(rounds, stat.SturdyRounds(baseLevel(n)), neededFor(n, at.distributed))
	}
	return rounds
}

// neededFor returns the number of rounds for the intervals of that many locks.
func neededFor(locks int, distributed bool) int { return stat.MinRounds(levelFor(locks, distributed)) }

// levelFor returns the confidence of a comparison in a decision on that many locks: local
// locks are compared with the default, distributed ones with each other.
func levelFor(locks int, distributed bool) float64 {
	if distributed {
		return stat.Level(stat.Pairs(locks))
	}
	return baseLevel(locks)
}

type situationKey struct {
	distributed bool
	load        string
}

// lockCounts returns the number of locks in each situation of the cases.
func lockCounts(cases iter.Seq2[harness.Lock, harness.Workload]) map[situationKey]int {
	out := make(map[situationKey]int)
	for lock, load := range cases {
		if load.Rate == 0 { // an open loop ranks no locks
			out[situationKey{lock.Traits.Needs != "", load.Name()}]++
		}
	}
	return out
}

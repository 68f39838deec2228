package judge

import (
	"iter"

	"locklab/harness"
	"locklab/internal/stat"
)

// RoundsFor returns the rounds that cases need, and the locks in the most demanding situation.
func RoundsFor(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds, locks int) {
	for at, n := range lockCounts(cases) {
		if need := neededFor(n, at.distributed); need > rounds {
			rounds, locks = need, n
		}
	}
	return rounds, locks
}

// PlannedRounds returns the recommended rounds: for every interval, and for a difference to
// the baseline in all but a few rounds ([stat.SturdyRounds]).
func PlannedRounds(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds int) {
	for at, n := range lockCounts(cases) {
		rounds = max(rounds, stat.SturdyRounds(baseLevel(n)), neededFor(n, at.distributed))
	}
	return rounds
}

func neededFor(locks int, distributed bool) int { return stat.MinRounds(levelFor(locks, distributed)) }

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

func lockCounts(cases iter.Seq2[harness.Lock, harness.Workload]) map[situationKey]int {
	out := make(map[situationKey]int)
	for lock, load := range cases {
		if load.Rate == 0 { // an open loop ranks no locks
			out[situationKey{lock.Traits.Needs != "", load.Name()}]++
		}
	}
	return out
}

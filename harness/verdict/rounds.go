package verdict

import (
	"iter"

	"locklab/harness"
	"locklab/harness/stat"
)

// RoundsFor returns how many rounds the comparisons of cases need at least, and how many
// locks are compared in the situation that needs the most.
func RoundsFor(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds, locks int) {
	for at, n := range turnouts(cases) {
		if need := neededFor(n, at.distributed); need > rounds {
			rounds, locks = need, n
		}
	}
	return rounds, locks
}

// PlannedRounds returns how many rounds a run of cases should have: enough for every
// interval, and to find a difference to the baseline that all rounds but a few show, see
// [stat.SturdyRounds].
func PlannedRounds(cases iter.Seq2[harness.Lock, harness.Workload]) (rounds int) {
	for at, n := range turnouts(cases) {
		rounds = max(rounds, stat.SturdyRounds(baseLevel(n)), neededFor(n, at.distributed))
	}
	return rounds
}

// neededFor returns how many rounds the intervals of so many locks need.
func neededFor(locks int, distributed bool) int { return stat.MinRounds(levelFor(locks, distributed)) }

// levelFor returns the confidence of a comparison that a decision on so many locks uses:
// local locks are compared with the default, distributed ones with each other.
func levelFor(locks int, distributed bool) float64 {
	if distributed {
		return stat.Level(stat.Pairs(locks))
	}
	return baseLevel(locks)
}

// A turnout is a workload of local or of distributed locks.
type turnout struct {
	distributed bool
	load        string
}

// turnouts returns how many locks meet in each situation that the cases make.
func turnouts(cases iter.Seq2[harness.Lock, harness.Workload]) map[turnout]int {
	out := make(map[turnout]int)
	for lock, load := range cases {
		if load.Rate == 0 { // an open loop ranks no locks
			out[turnout{lock.Traits.Needs != "", load.Name()}]++
		}
	}
	return out
}

package verdict

import (
	"iter"
	"math"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// poolShare is which part of the chance of a false difference in a row is for
// pairs of locks for use, and not for notes of locks kept for reference. There
// are more of the latter, but what is used depends on the former.
const poolShare = 0.9

// levels returns the confidence of each comparison between two of so many locks
// for use, and of each with one of so many kept for reference.
func levels(pool, rivals int) (among, aside float64) {
	if rivals == 0 {
		return stat.Level(stat.Pairs(pool, 0)), 1
	}
	return stat.LevelOf(poolShare, stat.Pairs(pool, 0)), stat.LevelOf(1-poolShare, pool*rivals)
}

// confidence formats a level with as many decimals as keep it apart from
// certainty, and never rounds it up.
func confidence(level float64) string {
	const slack = 1e-9 // a level of 95 % is not quite that
	miss := 100 * (1 - level)
	unit := math.Pow(10, math.Max(0, math.Ceil(-math.Log10(miss))))
	percent := math.Floor((100-miss)*unit+slack) / unit
	return strconv.FormatFloat(percent, 'f', -1, 64) + numfmt.Space + "%"
}

// RoundsFor returns how many rounds it takes at least to give a verdict on each
// situation that the cases would make, and how many locks are compared where it
// takes the most.
func RoundsFor(cases iter.Seq2[harness.Lock, harness.Workload], of resultfile.Candidates) (rounds, locks int) {
	for n := range contestants(cases, of) {
		among, _ := levels(n.pool, n.rivals)
		if n.deciding == 1 { // of a tier of its own
			among = stat.Level(1)
		}
		if need := stat.MinRounds(among); need > rounds || need == rounds && n.pool+n.rivals > locks {
			rounds, locks = need, n.pool+n.rivals
		}
	}
	return rounds, locks
}

// PlannedRounds returns how many rounds the verdicts on the cases should have: so many
// that a difference between locks for use which all rounds show but a few is found (see
// [stat.SturdyRounds]), and that locks kept for reference can be told from them.
func PlannedRounds(cases iter.Seq2[harness.Lock, harness.Workload], of resultfile.Candidates) (rounds int) {
	for n := range contestants(cases, of) {
		among, aside := levels(n.pool, n.rivals)
		rounds = max(rounds, stat.SturdyRounds(among))
		if n.rivals > 0 {
			rounds = max(rounds, stat.MinRounds(aside))
		}
	}
	return rounds
}

// A turnout is how many locks meet in a situation, and how many of the pool are of the
// tier that decides it.
type turnout struct{ pool, rivals, deciding int }

// turnoutOf returns the turnout of so many locks of each status, of any of which one may
// be used, or else only those meant for use, unless there are none.
func turnoutOf(counts map[harness.Status]int, any bool) turnout {
	use, reference := counts[harness.Recommended], counts[harness.Reference]
	if use == 0 || any {
		return turnout{use + reference, 0, use + reference}
	}
	return turnout{use, reference, use}
}

// contestants yields what each situation that the cases would make compares.
func contestants(cases iter.Seq2[harness.Lock, harness.Workload], of resultfile.Candidates) iter.Seq[turnout] {
	type key struct {
		kind string
		load string
	}
	counts := make(map[key]map[harness.Status]int)
	tiered := make(map[key][]int) // locks that may be used, by tier
	for lock, load := range cases {
		if k := (key{lock.Traits.Needs, load.Name()}); eligible(lock) && load.Rate == 0 {
			if k.kind != "" {
				k.kind = "remote" // of whatever server: they are compared
			}
			if counts[k] == nil {
				counts[k] = make(map[harness.Status]int)
			}
			counts[k][lock.Status]++
			if tiered[k] == nil {
				tiered[k] = make([]int, len(tiers))
			}
			if i := tierOf(lock); i >= 0 && (lock.Status == harness.Recommended || of == resultfile.CandidatesAll && lock.Status == harness.Reference) {
				tiered[k][i]++
			}
		}
	}
	return func(yield func(turnout) bool) {
		for k, n := range counts {
			met := turnoutOf(n, of == resultfile.CandidatesAll)
			if i := slices.IndexFunc(tiered[k], func(n int) bool { return n > 0 }); i >= 0 {
				met.deciding = tiered[k][i]
			}
			if !yield(met) {
				return
			}
		}
	}
}

package lab

import (
	"fmt"
	"iter"

	"locklab/harness"
	"locklab/harness/runner"
	"locklab/harness/verdict"
)

// verdictRounds returns how many rounds it takes at least to give a verdict on
// what p measures, and how many locks are compared where it takes the most.
func verdictRounds(p *runner.Plan) (rounds, locks int) {
	return verdict.RoundsFor(described(p))
}

// plannedRounds returns how many rounds p should have, so that a difference of twice
// the margin is found: see [verdict.PlannedRounds].
func plannedRounds(p *runner.Plan) int {
	return max(defaultRounds, verdict.PlannedRounds(described(p)))
}

// described yields the cases of p as a report knows them.
func described(p *runner.Plan) iter.Seq2[harness.Lock, harness.Workload] {
	return func(yield func(harness.Lock, harness.Workload) bool) {
		for _, c := range p.Cases {
			if c.Unknown() {
				continue // an open loop, by which no lock is chosen
			}
			if !yield(c.Lock.Describe(), c.Workload) {
				return
			}
		}
	}
}

// setRounds gives p the rounds that the user wants, or as many as it should have.
func (o runOptions) setRounds(p *runner.Plan) {
	p.Rounds = o.rounds
	if !o.roundsGiven {
		p.Rounds = plannedRounds(p)
	}
}

// doubt returns a line that says that p has too few rounds for a verdict, or "".
func doubt(p *runner.Plan) string {
	need, locks := verdictRounds(p)
	if p.Rounds >= need {
		return ""
	}
	if locks < 2 {
		return fmt.Sprintf("no interval of 95 %% can come of this: it takes %d rounds, and this has %d; leave out --rounds", need, p.Rounds)
	}
	return fmt.Sprintf("no verdict can come of this: it takes %d rounds to compare %d locks, and this has %d; leave out --rounds, or choose fewer locks", need, locks, p.Rounds)
}

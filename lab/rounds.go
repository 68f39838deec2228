package lab

import (
	"fmt"
	"iter"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/measure"
)

// verdictRounds returns the least number of rounds for a verdict on p, and the number of
// compared locks in the most demanding situation.
func verdictRounds(p *measure.Plan) (rounds, locks int) {
	return judge.RoundsFor(described(p))
}

// plannedRounds returns the number of rounds of p that finds a difference of twice the
// tolerance: see [judge.PlannedRounds].
func plannedRounds(p *measure.Plan) int {
	return max(defaultRounds, judge.PlannedRounds(described(p)))
}

// described yields the cases of p as a report sees them.
func described(p *measure.Plan) iter.Seq2[harness.Lock, harness.Workload] {
	return func(yield func(harness.Lock, harness.Workload) bool) {
		for _, c := range p.Cases {
			if c.Unknown() {
				continue // an open loop; no lock is chosen by it
			}
			if !yield(c.Lock.Describe(), c.Workload) {
				return
			}
		}
	}
}

// setRounds gives p the rounds from the user, or the planned number.
func (o runOptions) setRounds(p *measure.Plan) {
	p.Rounds = o.rounds
	if o.rounds == 0 {
		p.Rounds = plannedRounds(p)
	}
}

// doubt returns a warning that p has too few rounds for a verdict, or "".
func doubt(p *measure.Plan) string {
	need, locks := verdictRounds(p)
	if p.Rounds >= need {
		return ""
	}
	if locks < 2 {
		return fmt.Sprintf("no interval of 95 %% can come of this: it takes %d rounds, and this has %d; leave out --rounds", need, p.Rounds)
	}
	return fmt.Sprintf("no verdict can come of this: it takes %d rounds to compare %d locks, and this has %d; leave out --rounds, or choose fewer locks", need, locks, p.Rounds)
}

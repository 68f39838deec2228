package lab

import (
	"fmt"
	"iter"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/measure"
)

// verdictRounds returns the rounds for a verdict on p, and the most compared locks.
func verdictRounds(p *measure.Plan) (rounds, locks int) {
	return judge.RoundsFor(described(p))
}

// plannedRounds returns the rounds that find twice the tolerance: see [judge.PlannedRounds].
func plannedRounds(p *measure.Plan) int {
	return max(defaultRounds, judge.PlannedRounds(described(p)))
}

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

func (o runOptions) setRounds(p *measure.Plan) {
	p.Rounds = o.rounds
	if o.rounds == 0 {
		p.Rounds = plannedRounds(p)
	}
}

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

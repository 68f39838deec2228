package main

import (
	"fmt"

	"locklab/harness"
	"locklab/harness/runner"
	"locklab/reports"
)

// verdictRounds returns how many rounds it takes at least to give a verdict on
// what p measures, and how many locks are compared where it takes the most.
func verdictRounds(p *runner.Plan) (rounds, locks int) {
	return reports.RoundsFor(func(yield func(harness.Lock, harness.Workload) bool) {
		for _, c := range p.Cases {
			if !yield(c.Lock.Describe(), c.Workload) {
				return
			}
		}
	})
}

// setRounds gives p the rounds that the user wants, or as many as a verdict takes
// and defaultRounds at least.
func (o runOptions) setRounds(p *runner.Plan) {
	p.Rounds = o.rounds
	if !o.roundsGiven {
		need, _ := verdictRounds(p)
		p.Rounds = max(defaultRounds, need)
	}
}

// doubt returns a line that says that p has too few rounds for a verdict, or "".
func doubt(p *runner.Plan) string {
	need, locks := verdictRounds(p)
	if p.Rounds >= need {
		return ""
	}
	return fmt.Sprintf("no verdict can come of this: it takes %d rounds to compare %d locks, and this has %d; leave out --rounds, or choose fewer locks", need, locks, p.Rounds)
}

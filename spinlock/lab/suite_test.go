package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
	"locklab/spinlock"
)

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }

func TestOptions(t *testing.T) {
	layers.OptionsComplete(t, func(s harness.Setup) (waiting.Policy, waiting.Pin) { return options(s).Wait, options(s).Pin })
}

// TestCohortOnOneNode checks that with one node the lock is the ticket lock itself.
func TestCohortOnOneNode(t *testing.T) {
	cohort := Suite[slices.IndexFunc(Suite, func(v *harness.Variant) bool { return v.Name == "cohort" })]
	for want, placements := range map[bool][][]int{true: {nil, {0, 0}, {3, 3}}, false: {{0, 1}}} {
		for _, nodes := range placements {
			h := cohort.Local(harness.Setup{Workers: 2, Nodes: nodes}).Worker(0)
			if _, ticket := h.(*spinlock.Ticket); ticket != want {
				t.Errorf("nodes %v: the handle is a %T", nodes, h)
			}
		}
	}
}

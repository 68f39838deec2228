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
	for _, tc := range []struct {
		nodes  []int
		ticket bool
	}{
		{nil, true},
		{[]int{0, 0}, true},
		{[]int{3, 3}, true},
		{[]int{0, 1}, false},
	} {
		h := cohort.Local(harness.Setup{Workers: 2, Nodes: tc.nodes}).Worker(0)
		if _, ticket := h.(*spinlock.Ticket); ticket != tc.ticket {
			t.Errorf("nodes %v: the handle is a %T", tc.nodes, h)
		}
	}
}

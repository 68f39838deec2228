package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
	"locklab/spinlock"
)

// TestSuiteComplete: every lock of package spinlock, and every one declared here, is
// in Suite.
func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }

// TestOptions: what the lab calls a wait policy or a pin is what the library calls
// by that name, and the library has no others.
func TestOptions(t *testing.T) {
	var policies []waiting.Policy
	for _, p := range harness.WaitPolicies {
		policies = append(policies, options(harness.Setup{Wait: p}).Wait)
	}
	if !slices.Equal(policies, waiting.Policies) {
		t.Errorf("wait policies %q, the library has %q", policies, waiting.Policies)
	}
	var pins []waiting.Pin
	for _, p := range harness.Pins {
		pins = append(pins, options(harness.Setup{Pin: p}).Pin)
	}
	if !slices.Equal(pins, waiting.Pins) {
		t.Errorf("pins %q, the library has %q", pins, waiting.Pins)
	}
}

// TestCohortOnOneNode checks that where there is nothing to choose the lock is
// the ticket lock itself, whose cost is the most that a lock for several nodes
// may have on one.
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

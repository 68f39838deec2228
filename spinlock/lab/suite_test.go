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

// TestOptions: the lab and the library have the same wait policies and pins.
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

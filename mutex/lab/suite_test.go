package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
)

// TestSuiteComplete: every lock of package mutex, and every one declared here, is
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

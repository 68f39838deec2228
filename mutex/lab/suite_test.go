package lab

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
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

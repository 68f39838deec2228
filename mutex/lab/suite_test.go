package lab

import (
	"testing"

	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
)

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }

func TestOptions(t *testing.T) {
	layers.OptionsComplete(t, func(s harness.Setup) (waiting.Policy, waiting.Pin) { return options(s).Wait, options(s).Pin })
}

package lab

import (
	"testing"
	"unsafe"

	"locklab/atomics"
	"locklab/harness"
	"locklab/internal/layers"
	"locklab/internal/waiting"
)

func TestHandlesDoNotShareLines(t *testing.T) {
	if size := unsafe.Sizeof(rbWorker{}); size <= atomics.CacheLine {
		t.Errorf("rbWorker has %d bytes, no space for padding", size)
	}
}

func TestSuiteComplete(t *testing.T) { layers.SuiteComplete(t, ".", Suite) }

func TestOptions(t *testing.T) {
	layers.OptionsComplete(t, func(s harness.Setup) (waiting.Policy, waiting.Pin) { return options(s).Wait, options(s).Pin })
}

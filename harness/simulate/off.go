//go:build !(systematic && simulate)

package simulate

import (
	"errors"

	"locklab/harness"
)

// Simulates reports that this build simulates: a scheduler in its atomics, and no measuring.
const Simulates = false

var errOff = errors.New("simulate: this build does not simulate: it lacks the tags systematic and simulate")

// Simulate returns an error in this build.
func Simulate(*Machine, *harness.Variant, Workload, int) (harness.Simulation, error) {
	return harness.Simulation{}, errOff
}

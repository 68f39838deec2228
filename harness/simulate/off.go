//go:build !(systematic && simulate)

package simulate

import (
	"errors"

	"locklab/harness"
	"locklab/harness/result"
)

// Simulates reports that this build simulates: a scheduler in its atomics, and no measuring.
const Simulates = false

var errOff = errors.New("simulate: this build does not simulate: it lacks the tags systematic and simulate")

// Simulate returns an error in this build.
func Simulate(*Machine, *harness.Variant, Workload, int) (result.Simulation, error) {
	return result.Simulation{}, errOff
}

//go:build !(systematic && simulate)

package simulate

import (
	"context"
	"errors"

	"locklab/harness"
	"locklab/harness/result"
)

// Simulates reports that this build simulates: a scheduler in its atomics, and no measuring.
const Simulates = false

// Simulate returns an error in this build.
func Simulate(context.Context, *Machine, *harness.Variant, Workload, int) (result.Simulation, error) {
	return result.Simulation{}, errors.New("simulate: this build does not simulate: it lacks the tags systematic and simulate")
}

func seen(*harness.Variant) error { return nil }

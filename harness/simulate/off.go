//go:build !(systematic && simulate)

package simulate

import (
	"context"
	"errors"
	"io"

	"locklab/harness"
)

// Simulates reports whether this build simulates. A simulating build cannot measure: each
// of its atomic operations calls a scheduler.
const Simulates = false

var errOff = errors.New("simulate: this build does not simulate: it lacks the tags systematic and simulate")

// Simulate returns an error in this build.
func Simulate(context.Context, *Machine, *harness.Variant, Workload, int) (harness.Simulation, error) {
	return harness.Simulation{}, errOff
}

// Duel returns an error in this build.
func Duel(*Machine, int, int, uint64, io.Writer) error { return errOff }

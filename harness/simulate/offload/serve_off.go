//go:build !(systematic && simulate)

package offload

import (
	"encoding/json"
	"os"

	"locklab/harness"
	"locklab/internal/machine"
)

// Simulates reports whether this build simulates. It cannot measure then: each of
// its atomic operations asks for a scheduler.
const Simulates = false

// Main says that this build does not simulate, and ends the process, if that was
// started for it; else it returns. In a build that simulates it does what its parent
// asks for. Nothing may be done before it.
func Main([]*harness.Variant) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	if json.NewEncoder(os.Stdout).Encode(hello{Protocol: protocol, Commit: machine.BuildCommit()}) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

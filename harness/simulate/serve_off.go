//go:build !(systematic && simulate)

package simulate

import (
	"encoding/json"
	"os"

	"locklab/harness"
	"locklab/internal/machine"
)

// Simulates reports whether this build simulates. A simulating build cannot measure: each
// of its atomic operations calls a scheduler.
const Simulates = false

// OffloadMain ends a process that was started for simulation, after reporting that this build
// does not simulate; else it returns. In a simulating build it serves its parent. It must
// come first in main.
func OffloadMain([]*harness.Variant) {
	if os.Getenv(workerEnv) == "" {
		return
	}
	if json.NewEncoder(os.Stdout).Encode(hello{Protocol: protocol, Commit: machine.BuildCommit()}) != nil {
		os.Exit(1)
	}
	os.Exit(0)
}

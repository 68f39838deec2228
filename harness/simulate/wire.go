package simulate

import (
	"encoding/json"

	"locklab/harness"
)

const workerEnv = "LOCKLAB_SIMULATES"

const protocol = 1

// A hello is the first line that a process prints.
type hello struct {
	Protocol  int      `json:"protocol"`
	Simulates bool     `json:"simulates"` // it was built with the tags
	Commit    string   `json:"commit"`    // "" is unknown
	Locks     []string `json:"locks"`     // their names
}

type offloadRequest struct {
	Machine  json.RawMessage `json:"machine"`
	Lock     string          `json:"lock"`
	Workload Workload        `json:"workload"`
	Seeds    int             `json:"seeds"`
	Duel     *[2]int         `json:"duel,omitempty"` // hardware threads, in place of a lock
}

type reply struct {
	Simulation *harness.Simulation `json:"simulation,omitempty"`
	Text       string              `json:"text,omitempty"` // of a duel
	Error      string              `json:"error,omitempty"`
}

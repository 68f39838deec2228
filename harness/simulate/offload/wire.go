package offload

import (
	"encoding/json"

	"locklab/harness"
	"locklab/harness/simulate"
)

// workerEnv marks a process that was started to simulate.
const workerEnv = "LOCKLAB_SIMULATES"

// protocol is the version of the messages between processes.
const protocol = 1

// A hello is the first line that a process prints.
type hello struct {
	Protocol  int      `json:"protocol"`
	Simulates bool     `json:"simulates"` // it was built with the tags
	Commit    string   `json:"commit"`    // "" is unknown
	Locks     []string `json:"locks"`     // their names
}

// A request is a line to a process.
type request struct {
	Machine  json.RawMessage   `json:"machine"`
	Lock     string            `json:"lock"`
	Workload simulate.Workload `json:"workload"`
	Seeds    int               `json:"seeds"`
	Duel     *[2]int           `json:"duel,omitempty"` // hardware threads, in place of a lock
}

// A reply is the line that answers a request.
type reply struct {
	Simulation *harness.Simulation `json:"simulation,omitempty"`
	Text       string              `json:"text,omitempty"` // of a duel
	Error      string              `json:"error,omitempty"`
}

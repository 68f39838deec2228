package simulate

import (
	"io"

	"locklab/harness"
)

// A Workload is what the workers do, each on a hardware thread of its own.
type Workload struct {
	Workers int
	Lines   int     // of data that a critical section reads and writes
	Hold    float64 // ns in the section beside that
	Think   float64 // ns between two turns, varied by half to either side
	Wait    harness.WaitPolicy
	Turns   int // measured, after as many as Warm
	Warm    int
	Seed    uint64
	Limit   int64 // ps; 0 is none
	Exact   bool  // workers that wait do not doze
	Spread  bool  // neighbours are on different sockets
	Log     io.Writer
}

// A Result is what came of a run.
type Result struct {
	Turns       int
	Elapsed     float64 // ns
	PerTurn     float64 // ns
	HandOver    float64 // ns, mean, where the next one waited already
	Longest     float64 // ns, longest wait for a turn
	Misses      float64 // per turn
	Remote      float64 // of them from another socket, per turn
	Invalidated float64 // copies per turn
	Jain        float64
	SameSocket  float64 // share of hand-overs to another worker that stay on the socket
	SameWorker  float64 // share of turns that the last worker takes again
	Steps       int64
	Cut         bool // it came to the limit
}

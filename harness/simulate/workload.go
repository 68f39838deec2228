package simulate

import (
	"errors"
	"fmt"

	"locklab/harness"
)

// A Workload describes workers that take a lock, work, release it and think, each on its own
// thread. A zero Acquisitions or Warm is a sufficient default.
type Workload struct {
	Workers int
	Lines   int     // cache lines of data that a critical section reads and writes
	Hold    float64 // ns of additional work in the critical section
	Think   float64 // ns between two acquisitions, varied by half to either side

	// Wait is the action of waiters between two polls: harness.WaitPause or harness.WaitSpin.
	// The other policies sleep or yield, and the model has no operating system for that.
	Wait harness.WaitPolicy

	Acquisitions int    // counted acquisitions; 0 is 8 per worker, at least 2000
	Warm         int    // acquisitions before them; 0 is 3 per worker, at least 100
	Seed         uint64 // of the jitter of latencies, of think times and of a lock's own choices
	Exact        bool   // waiters make every poll as a separate event: slower, for tests
	Apart        bool   // a core has a second worker only when every core has one
	Spread       bool   // neighbours are on different sockets

	// Overlaps reports that the code admits several workers, as a counter does.
	Overlaps bool
}

// WakeUp is the time in ns from an Unpark until the sleeper runs. The model has no scheduler: a
// sleeper keeps its hardware thread.
const WakeUp = 1000

// MaxLines is the greatest number of lines of data of a critical section.
const MaxLines = 1 << 10

// MaxTime is the longest hold and think time, in ns.
const MaxTime = 1e6

// Validate returns nil or the first mistake in w for m, in one line.
func (w Workload) Validate(m *Machine) error {
	switch {
	case w.Workers < 1:
		return fmt.Errorf("simulate: %d workers: want at least 1", w.Workers)
	case w.Workers > m.Threads():
		return fmt.Errorf("simulate: %d workers, and %s has %d hardware threads: each worker needs one of its own", w.Workers, m.Name, m.Threads())
	case w.Lines < 0 || w.Lines > MaxLines:
		return fmt.Errorf("simulate: %d lines of data: want 0 to %d", w.Lines, MaxLines)
	case !(w.Hold >= 0 && w.Hold <= MaxTime):
		return fmt.Errorf("simulate: hold time %v ns: want 0 to %v", w.Hold, MaxTime)
	case !(w.Think >= 0 && w.Think <= MaxTime):
		return fmt.Errorf("simulate: think time %v ns: want 0 to %v", w.Think, MaxTime)
	case w.Wait != harness.WaitPause && w.Wait != harness.WaitSpin:
		return fmt.Errorf("simulate: wait policy %s sleeps or yields, which the model does not know: want %s or %s", w.Wait, harness.WaitPause, harness.WaitSpin)
	case w.Acquisitions < 0 || w.Warm < 0:
		return errors.New("simulate: a number of acquisitions is negative")
	}
	return nil
}

// A Result is the outcome of one run. Figures per acquisition are over all workers.
type Result struct {
	Acquisitions   int     // acquisitions that were counted
	PerAcquisition float64 // ns of the machine's time per acquisition
	HandOver       float64 // ns from a release to the grant of another worker that waited already, mean
	Longest        float64 // ns, longest wait
	Misses         float64 // requests to the directory, per acquisition
	Remote         float64 // of them answered from another socket, per acquisition
	Invalidated    float64 // copies, per acquisition
	Jain           float64 // 1 if all workers have as many acquisitions
	SameSocket     float64 // share of handovers to another worker that stay on the socket
	SameWorker     float64 // share of acquisitions by the last holder
	Steps          int64   // events of the model
}

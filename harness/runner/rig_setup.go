package runner

import (
	"runtime"
	"slices"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

// setup is what the constructor of a local lock is told.
func (r *Rig) setup() harness.Setup {
	w := r.job.Workload
	s := harness.Setup{Workers: w.Workers, Wait: w.Wait, Pin: w.Pin}
	if w.Pin == harness.PinCPU {
		s.Nodes = nodes(r.in.Topology, w.Workers)
	}
	return s
}

// nodes returns on which node of t each worker stays, numbered in the order in
// which the workers come to them: processors with one last-level cache, or
// where the system does not tell the caches, with one memory. It is nil if the
// system tells neither or the workers stay on one node.
func nodes(t machine.Topology, workers int) []int {
	const untold = -1
	used := t[:min(workers, len(t))]
	key := func(p machine.Place) int { return p.Cache }
	if slices.ContainsFunc(used, func(p machine.Place) bool { return p.Cache == untold }) {
		key = func(p machine.Place) int { return p.Node }
	}
	numbers := make(map[int]int)
	of := make([]int, workers)
	for i := range of {
		k := key(t[i%len(t)])
		if k == untold {
			return nil
		}
		if _, known := numbers[k]; !known {
			numbers[k] = len(numbers)
		}
		of[i] = numbers[k]
	}
	if len(numbers) < 2 {
		return nil
	}
	return of
}

// garbagePercent is Go's own default for GOGC.
const garbagePercent = 100

// allocatorLoad starts a goroutine that allocates about 250 MB a second, which
// makes the collector run some tens of times a second, and returns how to end
// it.
func allocatorLoad() (stop func()) {
	const size, pause = 256 << 10, time.Millisecond
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		var keep []byte
		for tick := time.NewTicker(pause); ; {
			select {
			case <-done:
				tick.Stop()
				runtime.KeepAlive(keep)
				return
			case <-tick.C:
				keep = make([]byte, size)
			}
		}
	}()
	return func() { close(done); <-ended }
}

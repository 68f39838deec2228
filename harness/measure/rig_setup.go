package measure

import (
	"runtime"
	"slices"
	"time"

	"locklab/harness"
	"locklab/internal/machine"
)

func (r *Rig) setup() harness.Setup {
	w := r.job.Workload
	s := harness.Setup{Workers: w.Workers, Wait: w.Wait, Pin: w.Pin}
	if w.Pin == harness.PinCPU {
		s.Nodes = nodes(r.in.Topology, w.Workers)
	}
	return s
}

// nodes returns each worker's node, numbered in their order: the processors of a last-level
// cache, else of a memory. It returns nil without several nodes.
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

// allocatorLoad allocates about 250 MB/s, for some tens of collections per second, until stop.
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

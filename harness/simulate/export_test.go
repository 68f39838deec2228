//go:build systematic && simulate

package simulate

import (
	"locklab/harness"
)

// RunChecked is Run with the protocol checked after every event.
func RunChecked(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{excludes: true, checked: true})
}

// RunSingle is Run with each load and each hint of a waiter made by the worker.
func RunSingle(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{excludes: true, single: true})
}

// OneWay returns the result on m of a ping-pong by compare-and-swap between two threads,
// per hop in ns. Machines are described by this benchmark.
func OneWay(m *Machine, a, b int, seed uint64) float64 {
	const hops = 400
	s := newSim(m, seed)
	var ball cell
	var begin, end int64
	for i, thread := range []int{a, b} {
		s.newCore(i, thread, func(c *core) {
			for k := range hops {
				for !ball.v.CompareAndSwap(uint64(2*k+i), uint64(2*k+i+1)) {
				}
				if k == hops/4 {
					begin = c.clock
				}
				end = c.clock
			}
		})
	}
	s.simulate()
	return float64(end-begin) / 1000 / (2 * (hops - hops/4 - 1))
}

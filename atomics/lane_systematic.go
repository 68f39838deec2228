//go:build systematic

package atomics

import "time"

// Now returns the time of a model, or 0 without one.
func Now() time.Duration {
	ns, _ := schedule(OpNow, Word{}, 0, 0)
	return time.Duration(ns)
}

// Lane returns the number of the worker modulo n, n from 1 to 1<<31; 0 without a scheduler.
func Lane(n int) int {
	id, _ := schedule(OpLane, Word{}, 0, 0)
	return int(id % uint64(n))
}

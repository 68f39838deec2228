//go:build systematic

package atomics

// Lane returns a number from 0 to n-1 for the caller, n from 1 to 1<<31: the number of the
// worker, modulo n. Without a scheduler it is 0.
func Lane(n int) int {
	id, _ := schedule(OpLane, Word{}, 0, 0)
	return int(id % uint64(n))
}

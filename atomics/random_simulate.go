//go:build systematic && simulate

package atomics

// Random returns a number from 0 to n-1, n at least 1, which the scheduler draws, so that a run
// of a model repeats with its seed; 0 without a scheduler.
func Random(n int) int {
	v, _ := schedule(OpRandom, Word{}, 0, uint64(n))
	return int(v)
}

//go:build systematic && simulate

package atomics

import "math/rand/v2"

// Random returns a number from 0 to n-1 that the scheduler draws, so that a model's
// run repeats by its seed; without a scheduler it is that of math/rand. n is at least 1.
func Random(n int) int {
	if v, ok := schedule(OpRandom, Word{}, 0, uint64(n)); ok {
		return int(v)
	}
	return rand.IntN(n)
}

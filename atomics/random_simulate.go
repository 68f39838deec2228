//go:build systematic && simulate

package atomics

import "math/rand/v2"

// Random returns a number from 0 to n-1, n at least 1. The scheduler draws it, so that a
// run of a model repeats with its seed; without a scheduler it comes from math/rand.
func Random(n int) int {
	if v, ok := schedule(OpRandom, Word{}, 0, uint64(n)); ok {
		return int(v)
	}
	return rand.IntN(n)
}

//go:build systematic && simulate

package spinlock

import "locklab/atomics"

// random returns a number from 0 to n-1, the same again in a run with the same seed.
func random(n int) int { return atomics.Random(n) }

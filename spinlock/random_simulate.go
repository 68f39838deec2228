//go:build systematic && simulate

package spinlock

import "locklab/atomics"

// random returns a number from 0 to n-1. A run with the same seed gets the same numbers.
func random(n int) int { return atomics.Random(n) }

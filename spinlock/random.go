//go:build !systematic || !simulate

package spinlock

import "math/rand/v2"

// random returns a number from 0 to n-1.
func random(n int) int { return rand.IntN(n) }

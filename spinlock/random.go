//go:build !systematic || !simulate

package spinlock

import "math/rand/v2"

func random(n int) int { return rand.IntN(n) }

//go:build !systematic

package mutex

import "runtime"

// rwCollisions is the number of readers' collisions after which a lock makes slots.
const rwCollisions = 64

// rwLosses is the number of places that a reader may lose before it keeps one.
const rwLosses = 255

func rwSlots() int { return min(runtime.GOMAXPROCS(0), 64) }

//go:build !systematic

package mutex

import "runtime"

// rwCrowd is the number of readers' collisions after which a lock makes slots.
const rwCrowd = 64

func rwSlots() int { return min(runtime.GOMAXPROCS(0), 64) }

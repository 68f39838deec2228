//go:build !systematic

package mutex

import "runtime"

// rwCrowd is the number of collisions of readers after which a lock makes slots. A lock
// with fewer stays small.
const rwCrowd = 64

// rwSlots returns the number of slots of a lock.
func rwSlots() int { return min(runtime.GOMAXPROCS(0), 64) }

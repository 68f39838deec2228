//go:build !systematic

package mutex

import "runtime"

// rwCollisions is the number of readers' collisions after which a lock makes slots.
const rwCollisions = 64

// rwLosses is the number of places that a reader may lose before it keeps one.
const rwLosses = 255

// rwPolls is the number of a reader's polls before it sleeps: a writer may be inside for
// nanoseconds.
const rwPolls = 6

// rwSlots returns the number of slots: readers choose one by chance, and few should meet.
func rwSlots() int { return min(4*runtime.GOMAXPROCS(0), 64) }

//go:build !systematic

package mutex

import "runtime"

// A collision of readers counts as rwCollision, and each writer takes 1 away. A lock makes slots
// at rwCollisions. On two processors 99 % of reads make 0.02 to 7 collisions for each writer, and
// 90 % at most 0.003. But several hundred in a row come also with 90 %.
const (
	rwCollision  = 32
	rwCollisions = 4096 * rwCollision
)

// rwLosses is the number of places that a reader may lose before it keeps one.
const rwLosses = 255

// rwPolls is the number of a reader's polls before it sleeps, once there are slots: a writer may
// be inside for nanoseconds.
const rwPolls = 6

// rwSlots returns the number of slots: readers choose one by chance, and few should meet.
func rwSlots() int { return min(4*runtime.GOMAXPROCS(0), 64) }

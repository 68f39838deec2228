//go:build systematic

package mutex

import (
	"time"

	"locklab/atomics"
)

func mutexNow() time.Duration { return atomics.Now() }

func bubbled() bool { return false }

// newMutexWaiter pools none: schedules must not depend on each other.
func newMutexWaiter(<-chan struct{}) *mutexWaiter { return &mutexWaiter{parker: atomics.NewParker()} }

func (w *mutexWaiter) free() {}

var (
	rwCollision  uint32 = 1
	rwCollisions uint32 = 1
	rwLosses     uint8  = 1
	rwSlotCount         = 2
)

const rwPolls = 1

func rwSlots() int { return rwSlotCount }

//go:build systematic

package mutex

import (
	"time"

	"locklab/atomics"
)

// mutexHandovers is the number of acquisitions in spite of waiters for one handover.
var mutexHandovers uint8 = 2

// handoverDue counts in place of a clock, which the explorer does not have.
func (m *Mutex) handoverDue(uint32) bool {
	m.skip++
	return m.skip%mutexHandovers == 0
}

func mutexNow() time.Duration { return 0 }

// mutexPatience is 0 if a waiter demands a handover whenever it is woken in vain, or 1.
var mutexPatience time.Duration = 1

// newMutexWaiter pools none: schedules must not depend on each other.
func newMutexWaiter(<-chan struct{}) *mutexWaiter { return &mutexWaiter{parker: atomics.NewParker()} }

func (m *Mutex) putOff(time.Duration) {}

func (w *mutexWaiter) free() {}

var (
	rwCollision  uint32 = 1
	rwCollisions uint32 = 1
	rwLosses     uint8  = 1
	rwSlotCount         = 2
)

const rwPolls = 1

func rwSlots() int { return rwSlotCount }

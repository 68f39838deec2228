//go:build systematic && !simulate

package mutex

import "time"

// mutexHandovers is the number of acquisitions in spite of waiters for one handover.
var mutexHandovers uint8 = 2

// handoverDue counts in place of a clock, which the explorer does not have.
func (m *Mutex) handoverDue(uint32) bool {
	m.skip++
	return m.skip%mutexHandovers == 0
}

// mutexPatience is 0 if a waiter demands a handover whenever it is woken in vain, or 1.
var mutexPatience time.Duration = 1

func (m *Mutex) putOff(time.Duration) {}

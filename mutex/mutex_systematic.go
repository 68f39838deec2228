//go:build systematic

package mutex

import "locklab/atomics"

// handoverDue is true for every other release with waiters. The explorer has no clock.
func (m *Mutex) handoverDue() bool {
	if m.state.Load() < mutexWaiting {
		return false
	}
	m.releases++
	return m.releases%mutexHandovers == 1
}

// mutexHandovers is the number of releases with waiters for one handover.
var mutexHandovers uint16 = 2

// newMutexWaiter makes a waiter each time. With pooled ones a schedule would depend on
// the schedules before it.
func newMutexWaiter() *mutexWaiter { return &mutexWaiter{parker: atomics.NewParker()} }

func (w *mutexWaiter) free() {}

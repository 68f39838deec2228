//go:build !systematic

package mutex

import "time"

const (
	mutexClock = 1 << 10 // nanoseconds, the unit of Mutex.since

	// mutexLongest is the time in which all waiters get a handover, in units of
	// mutexClock. It is the time after which sync.Mutex hands over.
	mutexLongest = 1_000_000 / mutexClock

	// With a woken waiter on its way, only every mutexGlance-th release looks at the
	// clock, which costs as much as a short critical section.
	mutexGlance = 16
)

var mutexEpoch = time.Now()

// handoverDue reports whether this release must hand over.
func (m *Mutex) handoverDue() bool {
	s := m.state.Load()
	if m.releases++; s < mutexWaiting || s&mutexWoken != 0 && m.releases%mutexGlance != 0 {
		return false
	}
	return m.due(s/mutexWaiting, uint16(time.Since(mutexEpoch)/mutexClock))
}

// due reports whether the last handover was long ago, for that number of waiters. If so,
// the next one counts from now. After now has wrapped, every 67 ms, a handover may be late
// by the time between two.
func (m *Mutex) due(waiters uint32, now uint16) bool {
	if uint64(now-m.since)*uint64(waiters) < mutexLongest {
		return false
	}
	m.since = now
	return true
}

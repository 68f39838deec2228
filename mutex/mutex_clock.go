//go:build !systematic

package mutex

import "time"

const (
	mutexClock = 1 << 10 // nanoseconds, the unit of Mutex.since

	// All waiters get a handover in mutexLongest, in which a waiter of sync.Mutex gets one.
	// But mutexShortest is the least time between two. Both are in units of mutexClock.
	mutexLongest  = 1_000_000 / mutexClock
	mutexShortest = 15_000 / mutexClock

	// mutexSkips is the greatest number of acquisitions without a look at the clock, which
	// costs as much as a short critical section.
	mutexSkips = 64
)

var mutexEpoch = time.Now()

func mutexNow() time.Duration { return time.Since(mutexEpoch) }

// late reports whether w has waited for as long as a waiter for which sync.Mutex hands over.
func (w *mutexWaiter) late() bool { return mutexNow()-w.since >= time.Millisecond }

// handoverDue reports whether the release must hand over. The goroutine that has just
// taken the lock in spite of waiters calls it.
func (m *Mutex) handoverDue(waiters uint32) bool {
	if m.skip > 0 {
		m.skip--
		return false
	}
	due := m.due(waiters, uint16(mutexNow()/mutexClock))
	m.skip = m.skips
	return due
}

// due reports whether the last handover was long ago, for that number of waiters. If so,
// the next one counts from now. Looks become rarer if several find nothing due, and more
// frequent if one comes late. After now has wrapped, every 67 ms, a handover may be late by
// the time between two.
func (m *Mutex) due(waiters uint32, now uint16) bool {
	elapsed, pause := uint32(now-m.since), max(mutexLongest/waiters, mutexShortest)
	if elapsed < pause {
		if elapsed < pause/2 {
			m.skips = min(m.skips+1, mutexSkips)
		}
		return false
	}
	if elapsed > pause+pause/4 {
		m.skips /= 2
	}
	m.since = now
	return true
}

//go:build !systematic || simulate

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

// mutexPatience is how long a waiter may be woken in vain before it demands a handover.
// It is more than mutexLongest and mutexMostPutOff, so that normally the holder demands it first.
const mutexPatience = 4 * time.Millisecond

// At most a twentieth of the time goes into handovers: the next one waits for mutexCost times as
// long as the last one took, up to mutexMostPutOff in units of mutexClock.
const (
	mutexCost       = 19
	mutexMostPutOff = 2_000
)

// putOff puts the next handover off, since the last one took that long: a switch of threads, if
// the waiter's goroutine is locked to one. The waiter calls it with the lock.
func (m *Mutex) putOff(took time.Duration) {
	m.since = uint16(mutexNow()/mutexClock + min(mutexCost*took/mutexClock, mutexMostPutOff))
}

// handoverDue is called by the goroutine that has just taken the lock in spite of waiters.
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
// the time between two, or by mutexMostPutOff if there was none for 50 ms.
func (m *Mutex) due(waiters uint32, now uint16) bool {
	if ahead := m.since - now; ahead > 0 && ahead <= mutexMostPutOff {
		m.skips = min(m.skips+1, mutexSkips)
		return false
	}
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

//go:build !systematic

package mutex

import (
	"testing"
	"time"

	"locklab/atomics"
)

// TestMutexHandoverTimes checks the time between two handovers, also when the clock wraps.
func TestMutexHandoverTimes(t *testing.T) {
	for _, start := range []uint16{0, 1000, 65_000, 65_535} {
		for waiters, pause := range map[uint32]uint16{
			1: mutexLongest, 2: mutexLongest / 2, 64: mutexLongest / 64, 1000: mutexShortest, 1 << 27: mutexShortest,
		} {
			m := Mutex{since: start}
			for _, look := range []struct {
				after uint16
				due   bool
			}{{0, false}, {pause - 1, false}, {pause, true}, {pause, false}, {2*pause - 1, false}, {2 * pause, true}} {
				if due := m.due(waiters, start+look.after); due != look.due {
					t.Errorf("%d waiters, %d units after the start: due is %t, want %t", waiters, look.after, due, look.due)
				}
			}
		}
	}
}

// TestMutexPutsOff: after a slow handover the next one waits for 19 times as long, within limits.
func TestMutexPutsOff(t *testing.T) {
	const unit = mutexClock * time.Nanosecond
	for took, want := range map[time.Duration]uint16{0: 0, 20 * unit: 380, time.Hour: mutexMostPutOff} {
		var m Mutex
		before := uint16(mutexNow() / mutexClock)
		m.putOff(took)
		if off, passed := m.since-before-want, uint16(mutexNow()/mutexClock)-before; off > passed {
			t.Errorf("after a handover of %v the time to the next counts from %d units later, want %d", took, m.since-before, want)
		}
		now := m.since - want
		if want > 0 && (m.due(1000, now) || m.due(1000, m.since+mutexShortest-1)) || !m.due(1000, m.since+mutexShortest) {
			t.Errorf("a handover that was put off by %d units is due at another time", want)
		}
	}
}

// TestMutexTimesHandover: the waiter that gets the lock by a handover puts the next one off by
// the time that it took.
func TestMutexTimesHandover(t *testing.T) {
	var m Mutex
	m.Lock()
	w := &mutexWaiter{parker: atomics.NewParker()}
	m.join(w)
	begin := mutexNow()
	m.release(true)
	if w.since < begin || w.since > mutexNow() {
		t.Errorf("the handover began at %v, want between %v and %v", w.since, begin, mutexNow())
	}
	w.since -= time.Hour
	before := uint16(mutexNow() / mutexClock)
	if !m.retry(w) || m.since-before-mutexMostPutOff > uint16(mutexNow()/mutexClock)-before {
		t.Errorf("after a slow handover the time to the next counts from %d units later, want %d", m.since-before, mutexMostPutOff)
	}
}

// TestMutexLooksAtClock: looks at the clock become rare if nothing is due, frequent if late.
func TestMutexLooksAtClock(t *testing.T) {
	var m Mutex
	for range 2 * mutexSkips {
		m.due(1, m.since)
	}
	if m.skips != mutexSkips {
		t.Errorf("%d acquisitions between two early looks, want %d", m.skips, mutexSkips)
	}
	for range mutexSkips {
		m.due(1, m.since+2*mutexLongest)
	}
	if m.skips != 0 {
		t.Errorf("%d acquisitions between two late looks, want none", m.skips)
	}
	m.skip, m.since = 3, uint16(mutexNow()/mutexClock)+1<<15 // long ago
	for i := range 4 {
		if due := m.handoverDue(1); due != (i == 3) {
			t.Errorf("acquisition %d of 4: a handover is due: %t", i, due)
		}
	}
}

// TestMutexDemandsHandover: after a long time without one the release must hand over.
func TestMutexDemandsHandover(t *testing.T) {
	for ago, want := range map[uint16]uint32{0: mutexHeld, 1 << 15: mutexBusy} {
		m := Mutex{since: uint16(mutexNow()/mutexClock) + 1000 - ago}
		if ago == 0 {
			m.skip = 1 // no look at the clock
		}
		m.state.Store(mutexWoken + mutexWaiting)
		if took := m.TryLock(); !took || m.state.Load() != want+mutexWoken+mutexWaiting {
			t.Errorf("took the lock: %t, state %#x, want true and %#x", took, m.state.Load(), want+mutexWoken+mutexWaiting)
		}
	}
}

// TestRWMutexForgets: a collision for each 32 writers makes no slots, and one for each 31 does.
func TestRWMutexForgets(t *testing.T) {
	for writers, want := range map[int]bool{rwCollision: false, rwCollision - 1: true} {
		var l RWMutex
		for range rwCollisions {
			l.collide()
			for range writers {
				l.Lock()
				//lint:ignore SA2001 only that a writer came matters
				l.Unlock()
			}
		}
		if made := l.slots != nil; made != want {
			t.Errorf("a collision for each %d writers makes slots: %t, want %t", writers, made, want)
		}
	}
}

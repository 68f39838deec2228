//go:build !systematic

package mutex

import (
	"testing"
	"time"
)

// TestMutexHandoverTimes checks that all waiters get a handover in a millisecond, also
// when the clock wraps.
func TestMutexHandoverTimes(t *testing.T) {
	for _, start := range []uint16{0, 1000, 65_000, 65_535} {
		for waiters, want := range map[uint32]int{1: 975, 2: 487, 64: 15, 1024: 0} {
			m := Mutex{since: start}
			if want > 0 && m.due(waiters, start+uint16(want)) {
				t.Errorf("%d waiters: a handover is due after %d units, want later", waiters, want)
			}
			if !m.due(waiters, start+uint16(want)+1) {
				t.Errorf("%d waiters: no handover is due after %d units", waiters, want+1)
			}
			if m.due(waiters, start+uint16(want)+1) {
				t.Errorf("%d waiters: a second handover is due at once", waiters)
			}
		}
	}
}

// TestMutexLooksAtClock checks that each release that would wake a waiter looks at the
// clock, and every mutexGlance-th one if a woken waiter is on its way.
func TestMutexLooksAtClock(t *testing.T) {
	for state, want := range map[uint32]int{
		mutexHeld:                             0,
		mutexHeld + mutexWaiting:              4 * mutexGlance,
		mutexHeld + mutexWoken + mutexWaiting: 4,
	} {
		var m Mutex
		m.state.Store(state)
		looks := 0
		for range 4 * mutexGlance {
			m.since = uint16(time.Since(mutexEpoch)/mutexClock) + 1<<15 // long ago
			if m.handoverDue() {
				looks++
			}
		}
		if looks != want {
			t.Errorf("state %#x: %d of %d releases looked at the clock, want %d", state, looks, 4*mutexGlance, want)
		}
	}
}

package waiting

import (
	"runtime"
	"testing"

	"locklab/harness"
)

// TestWhoSleeps states in full when a lock that can wake lets its waiters sleep,
// and after how many looks.
func TestWhoSleeps(t *testing.T) {
	few, many := 1, runtime.GOMAXPROCS(0)+1
	for _, tc := range []struct {
		setup  harness.Setup
		sleeps bool
		looks  int
	}{
		{harness.Setup{Workers: few}, true, adaptiveLooks},
		{harness.Setup{Workers: many}, true, 0},
		{harness.Setup{Workers: few, Pin: harness.PinThread}, false, adaptiveLooks},
		{harness.Setup{Workers: many, Pin: harness.PinCPU}, true, 0},
		{harness.Setup{Workers: few, Wait: harness.WaitPark}, true, 0},
		{harness.Setup{Workers: few, Wait: harness.WaitPark, Pin: harness.PinCPU}, true, 0},
		{harness.Setup{Workers: many, Wait: harness.WaitYield}, false, 0},
		{harness.Setup{Workers: many, Wait: harness.WaitSchedYield}, false, 0},
		{harness.Setup{Workers: many, Wait: harness.WaitPause}, false, pauseLooks - 1},
	} {
		w := NewSleeper(tc.setup)
		if w.sleeps != tc.sleeps || w.looks != tc.looks {
			t.Errorf("%+v: sleeps %t after %d looks, want %t after %d", tc.setup, w.sleeps, w.looks, tc.sleeps, tc.looks)
		}
		if w := New(tc.setup.Wait, tc.setup.Pin); w.sleeps {
			t.Errorf("%+v: a waiter nobody can wake sleeps", tc.setup)
		}
	}
}

// TestYields checks who yields what. A waiter that yields its thread must let
// go of its processor too, now and then.
func TestYields(t *testing.T) {
	for _, tc := range []struct {
		wait   harness.WaitPolicy
		pin    harness.Pin
		thread bool
	}{
		{harness.WaitAdaptive, harness.PinNone, false},
		{harness.WaitAdaptive, harness.PinThread, true},
		{harness.WaitPause, harness.PinCPU, true},
		{harness.WaitPark, harness.PinCPU, true},
		{harness.WaitYield, harness.PinCPU, false},
		{harness.WaitSchedYield, harness.PinNone, true},
	} {
		w := New(tc.wait, tc.pin)
		if w.thread != tc.thread {
			t.Errorf("wait=%s pin=%s: yields the thread: %t, want %t", tc.wait, tc.pin, w.thread, tc.thread)
		}
		highest, dropped := 0, false
		for range 10 * pauseLooks * threadYields {
			w.Wait()
			dropped = dropped || w.yields < highest
			highest = max(highest, w.yields)
		}
		if tc.thread && (highest != threadYields || !dropped) {
			t.Errorf("wait=%s pin=%s: at most %d yields of the thread in a row, want %d", tc.wait, tc.pin, highest, threadYields)
		}
	}
}

package spinlock

import (
	"runtime"
	"testing"
	"unsafe"

	"locklab/atomics"
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
		w := newSleeper(tc.setup)
		if w.sleeps != tc.sleeps || w.looks != tc.looks {
			t.Errorf("%+v: sleeps %t after %d looks, want %t after %d", tc.setup, w.sleeps, w.looks, tc.sleeps, tc.looks)
		}
		if w := newWaiter(tc.setup.Wait, tc.setup.Pin); w.sleeps {
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
		w := newWaiter(tc.wait, tc.pin)
		if w.thread != tc.thread {
			t.Errorf("wait=%s pin=%s: yields the thread: %t, want %t", tc.wait, tc.pin, w.thread, tc.thread)
		}
		highest, dropped := 0, false
		for range 10 * pauseLooks * threadYields {
			w.wait()
			dropped = dropped || w.yields < highest
			highest = max(highest, w.yields)
		}
		if tc.thread && (highest != threadYields || !dropped) {
			t.Errorf("wait=%s pin=%s: at most %d yields of the thread in a row, want %d", tc.wait, tc.pin, highest, threadYields)
		}
	}
}

// TestBerth goes through the turns of a berth step by step.
func TestBerth(t *testing.T) {
	b := &newBerths(1)[0]
	if b.sleep(0) {
		t.Error("a closed berth let a guest in")
	}
	b.offer(5)
	if b.sleep(4) || b.sleep(6) {
		t.Error("a guest of another turn came in")
	}
	if b.close() {
		t.Error("a guest was found where none is")
	}
	if b.sleep(5) {
		t.Error("a guest came in after the host had closed")
	}
	b.offer(1<<32 - 1)
	woken := make(chan bool)
	go func() { woken <- b.sleep(1<<32 - 1) }()
	for b.state.Load()%berthStates != berthTaken {
		runtime.Gosched()
	}
	if !b.close() {
		t.Error("the guest was not found")
	}
	select {
	case <-woken:
		t.Error("the guest woke up by itself")
	default:
	}
	b.wake()
	if !<-woken {
		t.Error("the guest did not sleep")
	}
}

func TestSlots(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 4096: 4096, 4097: 8192} {
		if got := slots(n); got != want {
			t.Errorf("slots(%d) = %d, want %d", n, got, want)
		}
	}
}

// TestElementsDoNotShareLines checks what lies in arrays, next to its like.
func TestElementsDoNotShareLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"berth": unsafe.Sizeof(berth{}), "mcsNode": unsafe.Sizeof(mcsNode{}),
		"clhWorker": unsafe.Sizeof(clhWorker{}), "andersonFlag": unsafe.Sizeof(andersonFlag{}),
		"k42Node": unsafe.Sizeof(k42Node{}), "hapaxSlot": unsafe.Sizeof(hapaxSlot{}), "hapaxWorker": unsafe.Sizeof(hapaxWorker{}),
	} {
		if size <= atomics.CacheLine {
			t.Errorf("%s has %d bytes, no room for padding", name, size)
		}
	}
}

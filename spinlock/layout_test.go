package spinlock

import (
	"runtime"
	"testing"
	"unsafe"

	"locklab/atomics"
)

func TestParkSlotKeepsAcquisitionsApart(t *testing.T) {
	b := &newSlots(1)[0]
	if b.sleep(0) {
		t.Error("a waiter slept in a closed slot")
	}
	b.offer(5)
	if b.sleep(4) || b.sleep(6) {
		t.Error("a waiter of another acquisition slept")
	}
	if b.close() {
		t.Error("a waiter was found where none is")
	}
	if b.sleep(5) {
		t.Error("a waiter slept after the slot was closed")
	}
	b.offer(1<<32 - 1)
	woken := make(chan bool)
	go func() { woken <- b.sleep(1<<32 - 1) }()
	for b.state.Load()%slotStates != slotTaken {
		runtime.Gosched()
	}
	if !b.close() {
		t.Error("the waiter was not found")
	}
	select {
	case <-woken:
		t.Error("the waiter woke up by itself")
	default:
	}
	b.wake()
	if !<-woken {
		t.Error("the waiter did not sleep")
	}
}

func TestSlots(t *testing.T) {
	for n, want := range map[int]int{1: 1, 2: 2, 3: 4, 4: 4, 5: 8, 4096: 4096, 4097: 8192} {
		if got := slots(n); got != want {
			t.Errorf("slots(%d) = %d, want %d", n, got, want)
		}
	}
}

func TestElementsDoNotShareLines(t *testing.T) {
	for name, size := range map[string]uintptr{
		"parkSlot": unsafe.Sizeof(parkSlot{}), "MCSWorker": unsafe.Sizeof(MCSWorker{}),
		"CLHWorker": unsafe.Sizeof(CLHWorker{}), "clhNode": unsafe.Sizeof(clhNode{}), "andersonFlag": unsafe.Sizeof(andersonFlag{}),
		"K42Worker": unsafe.Sizeof(K42Worker{}), "hapaxSlot": unsafe.Sizeof(hapaxSlot{}), "HapaxWorker": unsafe.Sizeof(HapaxWorker{}),
	} {
		if size <= atomics.CacheLine {
			t.Errorf("%s has %d bytes, no space for padding", name, size)
		}
	}
	if size := unsafe.Sizeof(clhNode{}); size != clhNodeSize || size&(size-1) != 0 {
		t.Errorf("clhNode has %d bytes, no power of two: each Lock multiplies by that", size)
	}
	if size := unsafe.Sizeof(MCSWorker{}); size != mcsWorkerSize || size&(size-1) != 0 {
		t.Errorf("MCSWorker has %d bytes, no power of two: each handover multiplies by that", size)
	}
}

// TestMCSNodeIsOneLine checks that a handover moves one 64-byte line of a node.
func TestMCSNodeIsOneLine(t *testing.T) {
	const line = 64
	for workers := 1; workers <= 300; workers++ {
		n := NewMCS(workers, Options{}).Worker(workers - 1)
		first := uintptr(unsafe.Pointer(&n.next)) / line
		last := (uintptr(unsafe.Pointer(&n.grant)) + unsafe.Sizeof(n.grant) - 1) / line
		if first != last {
			t.Fatalf("%d workers: the last node begins in line %#x and ends in %#x", workers, first, last)
		}
	}
}

//go:build !systematic

package atomics

import (
	"math/bits"
	"testing"
)

// These tests fail if an operation makes its word escape to the heap, as assembly without
// noescape does. Under the tag systematic words escape: the scheduler gets their address.

func TestUint32StaysOnTheStack(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() {
		var w Uint32
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestUint64StaysOnTheStack(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("on 32-bit platforms sync/atomic moves 64-bit words to the heap to align them")
	}
	if n := testing.AllocsPerRun(100, func() {
		var w Uint64
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	}); n != 0 {
		t.Errorf("%v allocations, want none", n)
	}
}

func TestNoAllocation(t *testing.T) {
	if n := testing.AllocsPerRun(100, func() { SpinHint(int(Ticks() % 2)) }); n != 0 {
		t.Errorf("SpinHint and Ticks: %v allocations, want none", n)
	}
}

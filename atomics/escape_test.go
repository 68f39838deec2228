//go:build !systematic

package atomics

import (
	"math/bits"
	"testing"
)

// These tests fail if an operation makes its word escape to the heap, as assembly without
// noescape does. Under the tag systematic words escape: the scheduler gets their address.

func TestNothingAllocates(t *testing.T) {
	requireNoAllocation(t, "SpinHint and Ticks", func() { SpinHint(int(Ticks() % 2)) })
	requireNoAllocation(t, "Uint32", func() {
		var w Uint32
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	})
	if bits.UintSize == 32 {
		return // sync/atomic moves 64-bit words to the heap to align them
	}
	requireNoAllocation(t, "Uint64", func() {
		var w Uint64
		w.Store(1)
		w.StoreRelease(w.Add(1) + w.Swap(3))
		w.CompareAndSwap(w.Load(), 0)
		w.PollWhile(0, 2)
	})
}

func requireNoAllocation(t *testing.T, name string, f func()) {
	t.Helper()
	if n := testing.AllocsPerRun(100, f); n != 0 {
		t.Errorf("%s: %v allocations, want none", name, n)
	}
}

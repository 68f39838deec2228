//go:build systematic

package atomics

import "sync/atomic"

// A Uint32 is the word of the normal build, with the same methods. The [Scheduler] performs
// its operations, or [sync/atomic] without a scheduler.
type Uint32 struct{ v atomic.Uint32 }

func (x *Uint32) operate(op Op, old, new uint32) (before uint32) {
	return uint32(operate(op, word32(&x.v), uint64(old), uint64(new)))
}

func (x *Uint32) Load() uint32 { return x.operate(OpLoad, 0, 0) }

func (x *Uint32) Store(v uint32) { x.operate(OpStore, 0, v) }

// StoreRelease sets the value to v. A Scheduler may show it to others late, as
// a CPU with a store buffer does; without one it is Store.
func (x *Uint32) StoreRelease(v uint32) { x.operate(OpStoreRelease, 0, v) }

func (x *Uint32) CompareAndSwap(old, new uint32) bool {
	return x.operate(OpCompareAndSwap, old, new) == old
}

func (x *Uint32) Swap(v uint32) uint32 { return x.operate(OpSwap, 0, v) }

func (x *Uint32) Add(delta uint32) uint32 { return x.operate(OpAdd, 0, delta) + delta }

func (x *Uint32) TestAndSet() bool { return x.Load() == 0 && x.CompareAndSwap(0, 1) }

func (x *Uint32) AddRelease(delta uint32) { x.StoreRelease(x.Load() + delta) }

func (x *Uint32) GuardedReset(other *Uint32, old uint32) bool {
	return x.Load() == 0 && other.CompareAndSwap(old, 0)
}

// A Uint64 is a [Uint32] with 64 bits, aligned to 8 bytes on 32-bit platforms too.
type Uint64 struct{ v atomic.Uint64 }

func (x *Uint64) operate(op Op, old, new uint64) (before uint64) {
	return operate(op, word64(&x.v), old, new)
}

func (x *Uint64) Load() uint64 { return x.operate(OpLoad, 0, 0) }

func (x *Uint64) Store(v uint64) { x.operate(OpStore, 0, v) }

func (x *Uint64) StoreRelease(v uint64) { x.operate(OpStoreRelease, 0, v) }

func (x *Uint64) CompareAndSwap(old, new uint64) bool {
	return x.operate(OpCompareAndSwap, old, new) == old
}

func (x *Uint64) AddRelease(delta uint64) { x.StoreRelease(x.Load() + delta) }

func (x *Uint64) Swap(v uint64) uint64 { return x.operate(OpSwap, 0, v) }

func (x *Uint64) Add(delta uint64) uint64 { return x.operate(OpAdd, 0, delta) + delta }

// operate performs an operation by the Scheduler, or else by a loop of compare-and-swap. It
// returns the value that the operation found.
func operate(op Op, w Word, old, new uint64) (before uint64) {
	before, ok := schedule(op, w, old, new)
	for a := (Access{Op: op, Word: w, Old: old, New: new}); !ok; {
		before = w.Get()
		ok = op == OpLoad || w.compareAndSwap(before, a.After(before))
	}
	return before
}

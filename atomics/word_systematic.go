//go:build systematic

package atomics

import (
	"sync/atomic"
	"unsafe"
)

// A Uint32 is a 32-bit word shared by goroutines. The zero value is 0. It must
// not be copied after its first use. Each operation calls the [Scheduler] once
// and is then that of [sync/atomic].
type Uint32 struct{ v atomic.Uint32 }

// at tells the scheduler that op is next on x, and returns the word.
func (x *Uint32) at(op Op) *atomic.Uint32 {
	schedule(op, unsafe.Pointer(x))
	return &x.v
}

// Load returns the value.
func (x *Uint32) Load() uint32 { return x.at(OpLoad).Load() }

// Store sets the value to v.
func (x *Uint32) Store(v uint32) { x.at(OpStore).Store(v) }

// StoreRelease sets the value to v. In this build it is no weaker than Store.
func (x *Uint32) StoreRelease(v uint32) { x.at(OpStoreRelease).Store(v) }

// CompareAndSwap sets the value to new if it is old, and reports whether it did.
func (x *Uint32) CompareAndSwap(old, new uint32) bool {
	return x.at(OpCompareAndSwap).CompareAndSwap(old, new)
}

// Swap sets the value to v and returns the one before.
func (x *Uint32) Swap(v uint32) uint32 { return x.at(OpSwap).Swap(v) }

// Add adds delta, modulo 1<<32, and returns the new value.
func (x *Uint32) Add(delta uint32) uint32 { return x.at(OpAdd).Add(delta) }

// A Uint64 is a 64-bit word shared by goroutines, aligned to 8 bytes on 32-bit
// platforms too. The zero value is 0. It must not be copied after its first
// use. Each operation calls the [Scheduler] once and is then that of
// [sync/atomic].
type Uint64 struct{ v atomic.Uint64 }

// at tells the scheduler that op is next on x, and returns the word.
func (x *Uint64) at(op Op) *atomic.Uint64 {
	schedule(op, unsafe.Pointer(x))
	return &x.v
}

// Load returns the value.
func (x *Uint64) Load() uint64 { return x.at(OpLoad).Load() }

// Store sets the value to v.
func (x *Uint64) Store(v uint64) { x.at(OpStore).Store(v) }

// StoreRelease sets the value to v. In this build it is no weaker than Store.
func (x *Uint64) StoreRelease(v uint64) { x.at(OpStoreRelease).Store(v) }

// CompareAndSwap sets the value to new if it is old, and reports whether it did.
func (x *Uint64) CompareAndSwap(old, new uint64) bool {
	return x.at(OpCompareAndSwap).CompareAndSwap(old, new)
}

// Swap sets the value to v and returns the one before.
func (x *Uint64) Swap(v uint64) uint64 { return x.at(OpSwap).Swap(v) }

// Add adds delta, modulo 1<<64, and returns the new value.
func (x *Uint64) Add(delta uint64) uint64 { return x.at(OpAdd).Add(delta) }

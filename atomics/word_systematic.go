//go:build systematic

package atomics

import "sync/atomic"

// A Uint32 is the word of the normal build, with the same methods. The [Scheduler] performs
// its operations, or [sync/atomic] without a scheduler.
type Uint32 struct{ v atomic.Uint32 }

func (x *Uint32) schedule(op Op, old, new uint32) (before uint32, ok bool) {
	v, ok := schedule(op, word32(&x.v), uint64(old), uint64(new))
	return uint32(v), ok
}

func (x *Uint32) Load() uint32 {
	if before, ok := x.schedule(OpLoad, 0, 0); ok {
		return before
	}
	return x.v.Load()
}

func (x *Uint32) Store(v uint32) {
	if _, ok := x.schedule(OpStore, 0, v); !ok {
		x.v.Store(v)
	}
}

// StoreRelease sets the value to v. A Scheduler may show it to others late, as
// a CPU with a store buffer does; without one it is Store.
func (x *Uint32) StoreRelease(v uint32) {
	if _, ok := x.schedule(OpStoreRelease, 0, v); !ok {
		x.v.Store(v)
	}
}

func (x *Uint32) CompareAndSwap(old, new uint32) bool {
	if before, ok := x.schedule(OpCompareAndSwap, old, new); ok {
		return before == old
	}
	return x.v.CompareAndSwap(old, new)
}

func (x *Uint32) Swap(v uint32) uint32 {
	if before, ok := x.schedule(OpSwap, 0, v); ok {
		return before
	}
	return x.v.Swap(v)
}

func (x *Uint32) Add(delta uint32) uint32 {
	if before, ok := x.schedule(OpAdd, 0, delta); ok {
		return before + delta
	}
	return x.v.Add(delta)
}

func (x *Uint32) TestAndSet() bool { return x.Load() == 0 && x.CompareAndSwap(0, 1) }

func (x *Uint32) AddRelease(delta uint32) { x.StoreRelease(x.Load() + delta) }

func (x *Uint32) GuardedReset(other *Uint32, old uint32) bool {
	return x.Load() == 0 && other.CompareAndSwap(old, 0)
}

// A Uint64 is a [Uint32] with 64 bits, aligned to 8 bytes on 32-bit platforms too.
type Uint64 struct{ v atomic.Uint64 }

func (x *Uint64) schedule(op Op, old, new uint64) (before uint64, ok bool) {
	return schedule(op, word64(&x.v), old, new)
}

func (x *Uint64) Load() uint64 {
	if before, ok := x.schedule(OpLoad, 0, 0); ok {
		return before
	}
	return x.v.Load()
}

func (x *Uint64) Store(v uint64) {
	if _, ok := x.schedule(OpStore, 0, v); !ok {
		x.v.Store(v)
	}
}

func (x *Uint64) StoreRelease(v uint64) {
	if _, ok := x.schedule(OpStoreRelease, 0, v); !ok {
		x.v.Store(v)
	}
}

func (x *Uint64) CompareAndSwap(old, new uint64) bool {
	if before, ok := x.schedule(OpCompareAndSwap, old, new); ok {
		return before == old
	}
	return x.v.CompareAndSwap(old, new)
}

func (x *Uint64) AddRelease(delta uint64) { x.StoreRelease(x.Load() + delta) }

func (x *Uint64) Swap(v uint64) uint64 {
	if before, ok := x.schedule(OpSwap, 0, v); ok {
		return before
	}
	return x.v.Swap(v)
}

func (x *Uint64) Add(delta uint64) uint64 {
	if before, ok := x.schedule(OpAdd, 0, delta); ok {
		return before + delta
	}
	return x.v.Add(delta)
}

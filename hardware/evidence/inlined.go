package evidence

import (
	"sync/atomic"

	"locklab/atomics"
)

// inlined is [atomics.Reference] as a lock uses it: the compiler inlines each call below.
var inlined = &atomics.Primitive{
	Name:             atomics.Reference.Name,
	CompareAndSwap32: compareAndSwap,
	Swap32:           swap,
	Add32:            add,
	LoadAcquire32:    load,
	StoreRelease32:   store,
}

//go:noinline
func compareAndSwap(p *uint32, old, new uint32) bool { return atomic.CompareAndSwapUint32(p, old, new) }

//go:noinline
func swap(p *uint32, new uint32) uint32 { return atomic.SwapUint32(p, new) }

//go:noinline
func add(p *uint32, delta uint32) uint32 { return atomic.AddUint32(p, delta) }

//go:noinline
func load(p *uint32) uint32 { return atomic.LoadUint32(p) }

//go:noinline
func store(p *uint32, v uint32) { atomic.StoreUint32(p, v) }

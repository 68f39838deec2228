//go:build systematic && simulate

package spinlock

import "locklab/atomics"

type guarded struct{ v atomics.Uint32 }

func (g *guarded) get() uint32  { return g.v.Load() }
func (g *guarded) set(v uint32) { g.v.StoreRelease(v) }

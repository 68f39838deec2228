//go:build !systematic || !simulate

package spinlock

// A guarded word is plain, for the holder of a lock; the simulated caches treat it as a word.
type guarded struct{ v uint32 }

func (g *guarded) get() uint32  { return g.v }
func (g *guarded) set(v uint32) { g.v = v }

//go:build !systematic || !simulate

package spinlock

// A guarded word is used only by the holder of a lock, so it is plain. The simulated
// caches treat it as a word, since its line moves with the lock.
type guarded struct{ v uint32 }

func (g *guarded) get() uint32  { return g.v }
func (g *guarded) set(v uint32) { g.v = v }

//go:build !((amd64 || arm64) && gc && !purego)

package hardware

import "sync/atomic"

// casBodies are those possible in Go: no instruction compares and swaps without being atomic.
var casBodies = []casBody{
	goBody(casBody{name: "load, compare, store"}, compareThenStore),
	goBody(casBody{name: "atomic.CompareAndSwap", single: true, atomic: true}, atomic.CompareAndSwapUint64),
}

func goBody(b casBody, cas compareAndSwap) casBody {
	b.add = func(p *uint64, n uint64) uint64 { return add(p, n, cas) }
	b.lock = func(g *guarded, id, limit, patience, iterations uint64) (uint64, uint64) {
		return lock(g, id, limit, patience, iterations, cas)
	}
	return b
}

type compareAndSwap func(p *uint64, old, new uint64) bool

func compareThenStore(p *uint64, old, new uint64) bool {
	if atomic.LoadUint64(p) != old {
		return false
	}
	atomic.StoreUint64(p, new)
	return true
}

func add(p *uint64, attempts uint64, cas compareAndSwap) (won uint64) {
	for range attempts {
		if v := atomic.LoadUint64(p); cas(p, v, v+1) {
			won++
		}
	}
	return won
}

func lock(g *guarded, id, limit, patience, iterations uint64, cas compareAndSwap) (entered, violated uint64) {
	for entered < limit {
		left := patience
		for !cas(&g.word, 0, 1) {
			if left--; left == 0 {
				return entered, violated
			}
		}
		// Two atomic accesses: no race for the detector, and no atomic increment.
		atomic.StoreUint64(&g.owner, id)
		atomic.StoreUint64(&g.counter, atomic.LoadUint64(&g.counter)+1)
		for i := uint64(0); i < iterations && atomic.LoadUint64(&g.owner) == id; i++ {
		}
		if atomic.LoadUint64(&g.owner) != id {
			violated++
		}
		atomic.StoreUint64(&g.word, 0)
		entered++
	}
	return entered, violated
}

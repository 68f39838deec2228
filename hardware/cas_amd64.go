//go:build gc && !purego

package hardware

// casBodies are ordered from no help of the hardware to full help.
var casBodies = []casBody{
	{name: "load, compare, store", add: addMoves, lock: lockMoves},
	{name: "CMPXCHG without LOCK", single: true, add: addCmpxchg, lock: lockCmpxchg},
	{name: "LOCK CMPXCHG", single: true, atomic: true, add: addLocked, lock: lockLocked},
}

// The functions below are in cas_amd64.s. casBody describes them.

//go:noescape
func addMoves(p *uint64, attempts uint64) (won uint64)

//go:noescape
func addCmpxchg(p *uint64, attempts uint64) (won uint64)

//go:noescape
func addLocked(p *uint64, attempts uint64) (won uint64)

//go:noescape
func lockMoves(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:noescape
func lockCmpxchg(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:noescape
func lockLocked(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:build gc && !purego

package hardware

import (
	"slices"

	"locklab/atomics"
)

// casBodies go from no help of the hardware to full help; no single instruction is not atomic.
var casBodies = armBodies(hasCASAL())

func armBodies(casal bool) []casBody {
	bodies := []casBody{
		{name: "load, compare, store", add: addMoves, lock: lockMoves},
		{name: "LDAXR/STLXR", single: true, atomic: true, add: addExclusive, lock: lockExclusive},
	}
	if casal {
		bodies = append(bodies, casBody{name: "CASAL", single: true, atomic: true, add: addCasal, lock: lockCasal})
	}
	return bodies
}

func hasCASAL() bool {
	return slices.ContainsFunc(atomics.Suite, func(p *atomics.Primitive) bool { return p.Name == "casal" && p.Available() })
}

// The functions below are in cas_arm64.s. casBody describes them.

//go:noescape
func addMoves(p *uint64, attempts uint64) (won uint64)

//go:noescape
func addExclusive(p *uint64, attempts uint64) (won uint64)

//go:noescape
func addCasal(p *uint64, attempts uint64) (won uint64)

//go:noescape
func lockMoves(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:noescape
func lockExclusive(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

//go:noescape
func lockCasal(s *guarded, id, limit, patience, iterations uint64) (entered, violated uint64)

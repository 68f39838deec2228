package machine

import "slices"

// A Relation is the distance between two processors: the smallest part of the machine that contains
// both. A nearer relation is less. [Unknown] is the greatest, so that r <= SameCache excludes it.
type Relation int

// The relations, from near to far.
const (
	SameCPU      Relation = iota
	SMTSiblings           // two threads of one core
	SameCache             // share the last-level cache, but no core
	SameNode              // the same memory node, but not the last-level cache
	SamePackage           // the same package; another memory node, or it is unknown
	OtherNode             // another memory node; the packages are unknown
	OtherPackage          // a message between them crosses the link between packages
	Unknown               // not reported by the system, or no such processor
)

var relationNames = [...]string{
	SameCPU:      "same CPU",
	SMTSiblings:  "SMT siblings",
	SameCache:    "same last-level cache",
	SameNode:     "same NUMA node",
	SamePackage:  "same package",
	OtherNode:    "other NUMA node",
	OtherPackage: "other package",
	Unknown:      "unknown",
}

// String returns a label such as "same last-level cache".
func (r Relation) String() string {
	if r < 0 || int(r) >= len(relationNames) {
		r = Unknown
	}
	return relationNames[r]
}

// Relation returns the distance of p and q. A cache counts before a package: some arm64 kernels
// number clusters as packages.
func (p Place) Relation(q Place) Relation {
	packages := p.Package != untold && q.Package != untold
	nodes := p.Node != untold && q.Node != untold
	switch {
	case p.CPU == q.CPU:
		return SameCPU
	case p.Core == q.Core:
		return SMTSiblings
	case p.Cache == q.Cache && p.Cache != untold:
		return SameCache
	case packages && p.Package != q.Package:
		return OtherPackage
	case nodes && p.Node == q.Node:
		return SameNode
	case packages:
		return SamePackage
	case nodes:
		return OtherNode
	}
	return Unknown
}

// Relation returns the distance of a and b; one that is not in t is Unknown to all but itself.
func (t Topology) Relation(a, b int) Relation {
	if a == b {
		return SameCPU
	}
	p, okP := t.place(a)
	q, okQ := t.place(b)
	if !okP || !okQ {
		return Unknown
	}
	return p.Relation(q)
}

func (t Topology) place(cpu int) (Place, bool) {
	i := slices.IndexFunc(t, func(p Place) bool { return p.CPU == cpu })
	if i < 0 {
		return Place{}, false
	}
	return t[i], true
}

// Groups divides the processors into groups within r of each other, in the order of t.
func (t Topology) Groups(r Relation) [][]int {
	var groups [][]int
	var first []Place
	for _, p := range t {
		i := slices.IndexFunc(first, func(q Place) bool { return p.Relation(q) <= r })
		if i < 0 {
			i = len(first)
			first, groups = append(first, p), append(groups, nil)
		}
		groups[i] = append(groups[i], p.CPU)
	}
	return groups
}

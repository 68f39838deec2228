package machine

import (
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// CPUOrder returns the allowed processors in the order for pinned workers: each core's first
// thread, by package and last-level cache, then the siblings. So few workers share caches but
// no core. It is never empty; unknown topologies are 0 to runtime.NumCPU()-1.
func CPUOrder() []int { return ReadTopology().CPUs() }

func hostFS() fs.FS { return os.DirFS("/") }

func allowedCPUs() []int {
	if cpus := affinity(); len(cpus) > 0 {
		return cpus
	}
	cpus := make([]int, runtime.NumCPU())
	for i := range cpus {
		cpus[i] = i
	}
	return cpus
}

// untold marks facts that the system does not report about a [Place].
const untold = -1

// A Place is the position of a processor. Processors with the same number for a part share it;
// a core and a cache have the lowest number of their processors. -1 is unknown.
type Place struct {
	CPU     int `json:"cpu"`
	Thread  int `json:"thread"`     // index among the usable threads of its core, from 0
	Core    int `json:"core"`       // never -1: an unknown core counts as separate
	Cache   int `json:"last_cache"` // last-level cache
	Node    int `json:"node"`       // memory node
	Package int `json:"package"`    // socket
}

// A Topology is the places of processors, in the order of [CPUOrder]. Get it from [ReadTopology].
type Topology []Place

// ReadTopology returns the places of the processors this process may use. It is never empty. On
// systems other than Linux only the numbers of the processors are known.
func ReadTopology() Topology { return readTopology(hostFS(), allowedCPUs()) }

// CPUs returns the numbers of the processors.
func (t Topology) CPUs() []int {
	cpus := make([]int, len(t))
	for i, p := range t {
		cpus[i] = p.CPU
	}
	return cpus
}

// parts returns the number of parts by key, or 0 if one is unknown.
func (t Topology) parts(key func(Place) int) int {
	seen := make(map[int]bool)
	for _, p := range t {
		seen[key(p)] = true
	}
	if seen[untold] {
		return 0
	}
	return len(seen)
}

// readTopology reads the places of cpus; unreadable ones are their own cores.
func readTopology(fsys fs.FS, cpus []int) Topology {
	nodes := readNodes(fsys)
	t := make(Topology, 0, len(cpus))
	for _, cpu := range cpus {
		siblings := readSiblings(fsys, cpu)
		if siblings == nil {
			siblings = []int{cpu}
		}
		p := Place{CPU: cpu, Core: siblings[0], Cache: readLastCache(fsys, cpu), Node: untold}
		for _, s := range siblings {
			if s < cpu && slices.Contains(cpus, s) {
				p.Thread++
			}
		}
		if node, ok := nodes[cpu]; ok {
			p.Node = node
		}
		// Some arm64 machines report -1.
		p.Package = max(untold, readInt(fsys, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
		t = append(t, p)
	}
	order := func(p Place) []int { return []int{p.Thread, p.Package, p.Node, p.Cache, p.Core, p.CPU} }
	slices.SortFunc(t, func(a, b Place) int { return slices.Compare(order(a), order(b)) })
	return t
}

func readSiblings(fsys fs.FS, cpu int) []int {
	// Linux 5.3 renamed thread_siblings_list to core_cpus_list.
	for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
		s := parseCPUList(readText(fsys, "sys/devices/system/cpu/cpu%d/topology/%s", cpu, name))
		if slices.Contains(s, cpu) {
			return s
		}
	}
	return nil
}

func readNodes(fsys fs.FS) map[int]int {
	nodes := make(map[int]int)
	dirs, _ := fs.Glob(fsys, "sys/devices/system/node/node[0-9]*") // an error is a bad pattern
	for _, dir := range dirs {
		node, err := strconv.Atoi(strings.TrimPrefix(dir, "sys/devices/system/node/node"))
		if err != nil {
			continue
		}
		for _, cpu := range parseCPUList(readText(fsys, "%s/cpulist", dir)) {
			nodes[cpu] = node
		}
	}
	return nodes
}

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
	place := func(cpu int) int { return slices.IndexFunc(t, func(p Place) bool { return p.CPU == cpu }) }
	i, j := place(a), place(b)
	if i < 0 || j < 0 {
		return Unknown
	}
	return t[i].Relation(t[j])
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

package machine

import (
	"cmp"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

// CPUOrder returns the processors this process may use, in the order in which
// to give them to pinned workers: first one thread of every core, the cores of
// one package and one last-level cache together, then the sibling threads in
// the same order. So few workers share caches but no core. It is never empty;
// where the system does not tell, it is 0 to runtime.NumCPU()-1.
func CPUOrder() []int { return ReadTopology().CPUs() }

// PinThread binds the calling thread to one processor, numbered as in
// [CPUOrder]. The caller has called runtime.LockOSThread and never unlocks: the
// thread stays bound, so it must end with its goroutine. The error wraps
// errors.ErrUnsupported on systems other than Linux.
func PinThread(cpu int) error { return pinThread(cpu) }

// hostFS is where /proc and /sys are read from. Tests read trees of their own.
func hostFS() fs.FS { return os.DirFS("/") }

// allowedCPUs returns the numbers of the processors this process may use, in
// rising order.
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

// untold stands for what the system does not tell of a [Place].
const untold = -1

// A Place is where a processor sits. Two processors with the same number for a
// part of the machine share it, unless the number is -1: then the system does
// not tell. A core and a cache are named by the lowest number of the processors
// that share them.
type Place struct {
	CPU     int `json:"cpu"`
	Thread  int `json:"thread"`     // which of the usable threads of its core, 0 is the first
	Core    int `json:"core"`       // never -1: what is unknown is a core of its own
	Cache   int `json:"last_cache"` // last-level cache
	Node    int `json:"node"`       // memory node
	Package int `json:"package"`    // socket
}

// A Topology is where processors sit, in the order of [CPUOrder]. Get it from
// [ReadTopology].
type Topology []Place

// ReadTopology returns where the processors sit that this process may use. It
// is never empty. On systems other than Linux only the numbers of the
// processors are known.
func ReadTopology() Topology { return readTopology(hostFS(), allowedCPUs()) }

// CPUs returns the numbers of the processors.
func (t Topology) CPUs() []int {
	cpus := make([]int, len(t))
	for i, p := range t {
		cpus[i] = p.CPU
	}
	return cpus
}

// parts is count, but 0 if key is unknown of any processor.
func (t Topology) parts(key func(Place) int) int {
	if slices.ContainsFunc(t, func(p Place) bool { return key(p) == untold }) {
		return 0
	}
	return t.count(key)
}

// count returns how many different values key has.
func (t Topology) count(key func(Place) int) int {
	seen := make(map[int]bool)
	for _, p := range t {
		seen[key(p)] = true
	}
	return len(seen)
}

// readTopology reads where cpus sit. What cannot be read is as if every
// processor were a core of its own, with all else unknown.
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
		// Some arm64 machines say -1.
		p.Package = max(untold, readInt(fsys, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
		t = append(t, p)
	}
	slices.SortFunc(t, func(a, b Place) int {
		return cmp.Or(
			cmp.Compare(a.Thread, b.Thread),
			cmp.Compare(a.Package, b.Package),
			cmp.Compare(a.Node, b.Node),
			cmp.Compare(a.Cache, b.Cache),
			cmp.Compare(a.Core, b.Core),
			cmp.Compare(a.CPU, b.CPU))
	})
	return t
}

// readSiblings returns the threads of cpu's core, cpu included, in rising order; nil if
// they are unknown.
func readSiblings(fsys fs.FS, cpu int) []int {
	// core_cpus_list is the name since Linux 5.3 of what was thread_siblings_list.
	for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
		s := parseCPUList(readText(fsys, "sys/devices/system/cpu/cpu%d/topology/%s", cpu, name))
		if slices.Contains(s, cpu) {
			return s
		}
	}
	return nil
}

// readNodes returns the memory node of each processor.
func readNodes(fsys fs.FS) map[int]int {
	nodes := make(map[int]int)
	dirs, err := fs.Glob(fsys, "sys/devices/system/node/node[0-9]*")
	if err != nil {
		return nodes
	}
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

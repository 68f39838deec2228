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

// CPUOrder returns the processors this process may use, in the order for pinned workers. The first
// thread of every core comes first, grouped by package and last-level cache. The sibling threads
// follow in the same order. So few workers share caches but no core. It is never empty; if the
// system does not report the topology, it is 0 to runtime.NumCPU()-1.
func CPUOrder() []int { return ReadTopology().CPUs() }

// PinThread binds the calling thread to one processor, numbered as in [CPUOrder]. The caller must
// have called runtime.LockOSThread and must never unlock: the thread stays bound, so it must end
// with its goroutine. The error wraps errors.ErrUnsupported on systems other than Linux.
func PinThread(cpu int) error { return pinThread(cpu) }

// hostFS is the root of /proc and /sys. Tests use other trees.
func hostFS() fs.FS { return os.DirFS("/") }

// allowedCPUs returns the processors this process may use, in rising order.
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

// A Place is the position of a processor. Two processors share a part of the machine if they have
// the same number for it. The number -1 is unknown. A core and a cache have the lowest number of
// the processors that share them.
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

// parts is count, but 0 if key is unknown for any processor.
func (t Topology) parts(key func(Place) int) int {
	if slices.ContainsFunc(t, func(p Place) bool { return key(p) == untold }) {
		return 0
	}
	return t.count(key)
}

func (t Topology) count(key func(Place) int) int {
	seen := make(map[int]bool)
	for _, p := range t {
		seen[key(p)] = true
	}
	return len(seen)
}

// readTopology reads the places of cpus. If they cannot be read, every processor is its own core,
// with all else unknown.
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

// readSiblings returns the threads of cpu's core, including cpu, in rising order; nil if unknown.
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

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
func CPUOrder() []int {
	return readPlaces(hostFS(), allowedCPUs()).cpus()
}

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

// A place is where a processor sits. A core and a cache are named by the lowest
// number of the processors that share them.
type place struct {
	cpu    int
	thread int // which of the usable threads of its core, 0 is the first
	core   int
	cache  int // last level
	node   int // of memory
	socket int
}

// places are the places of some processors, in the order of [CPUOrder].
type places []place

// readPlaces reads where cpus sit. What cannot be read is as if every
// processor were a core of its own, all on one socket.
func readPlaces(fsys fs.FS, cpus []int) places {
	nodes := readNodes(fsys)
	ps := make(places, 0, len(cpus))
	for _, cpu := range cpus {
		siblings := readSiblings(fsys, cpu)
		p := place{cpu: cpu, core: siblings[0], node: nodes[cpu], cache: readLastCache(fsys, cpu)}
		for _, s := range siblings {
			if s < cpu && slices.Contains(cpus, s) {
				p.thread++
			}
		}
		// Some arm64 machines say -1.
		p.socket = max(0, readInt(fsys, "sys/devices/system/cpu/cpu%d/topology/physical_package_id", cpu))
		ps = append(ps, p)
	}
	slices.SortFunc(ps, func(a, b place) int {
		return cmp.Or(
			cmp.Compare(a.thread, b.thread),
			cmp.Compare(a.socket, b.socket),
			cmp.Compare(a.node, b.node),
			cmp.Compare(a.cache, b.cache),
			cmp.Compare(a.core, b.core),
			cmp.Compare(a.cpu, b.cpu))
	})
	return ps
}

func (ps places) cpus() []int {
	cpus := make([]int, len(ps))
	for i, p := range ps {
		cpus[i] = p.cpu
	}
	return cpus
}

// count returns how many different values key has.
func (ps places) count(key func(place) int) int {
	seen := make(map[int]bool)
	for _, p := range ps {
		seen[key(p)] = true
	}
	return len(seen)
}

// readSiblings returns the threads of cpu's core, cpu included, in rising order.
func readSiblings(fsys fs.FS, cpu int) []int {
	// core_cpus_list is the name since Linux 5.3 of what was thread_siblings_list.
	for _, name := range []string{"core_cpus_list", "thread_siblings_list"} {
		s := parseCPUList(readText(fsys, "sys/devices/system/cpu/cpu%d/topology/%s", cpu, name))
		if slices.Contains(s, cpu) {
			return s
		}
	}
	return []int{cpu}
}

// readLastCache returns the lowest processor that shares cpu's cache of the
// highest level, 0 if that is unknown.
func readLastCache(fsys fs.FS, cpu int) int {
	last, level := 0, 0
	for i := range 10 {
		const index = "sys/devices/system/cpu/cpu%d/cache/index%d/"
		l := readInt(fsys, index+"level", cpu, i)
		if l < 0 {
			break
		}
		shared := parseCPUList(readText(fsys, index+"shared_cpu_list", cpu, i))
		if l > level && len(shared) > 0 {
			last, level = shared[0], l
		}
	}
	return last
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

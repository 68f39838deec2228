package machine

import (
	"fmt"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

// affinity returns the processors of any thread: the calling and the main one may be pinned.
func affinity() []int {
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		threads = nil
	}
	cpus := threadAffinity(0)
	for _, t := range threads {
		if tid, err := strconv.Atoi(t.Name()); err == nil {
			cpus = append(cpus, threadAffinity(tid)...)
		}
	}
	slices.Sort(cpus)
	return slices.Compact(cpus)
}

func threadAffinity(tid int) []int {
	const most = 8192 // of any Linux
	set := unix.NewCPUSet(most)
	if unix.SchedGetaffinityDynamic(tid, set) != nil {
		return nil // the thread has ended
	}
	var cpus []int
	for cpu := range most {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus
}

func pinThread(cpu int) error {
	if cpu < 0 {
		return fmt.Errorf("machine: there is no processor %d", cpu)
	}
	set := unix.NewCPUSet(cpu + 1)
	set.Set(cpu)
	if err := unix.SchedSetaffinityDynamic(0, set); err != nil {
		return fmt.Errorf("machine: cannot bind a thread to processor %d: %w", cpu, err)
	}
	return nil
}

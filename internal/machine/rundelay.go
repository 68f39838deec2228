package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// RunDelays returns for each thread of a process how long it was ready to run but did not: the
// second field of schedstat (Documentation/scheduler/sched-stats.rst), or nothing.
func RunDelays(pid int) map[string]time.Duration {
	delays := make(map[string]time.Duration)
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return delays
	}
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "schedstat"))
		if f := bytes.Fields(text); err == nil && len(f) > 1 {
			ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
			delays[thread.Name()] = time.Duration(ns)
		}
	}
	return delays
}

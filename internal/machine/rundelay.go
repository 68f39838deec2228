package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// RunDelay returns for how long the threads of a process have been ready to run and
// were not run by a processor, all together (the second field of schedstat:
// Documentation/scheduler/sched-stats.rst of Linux). It is 0 where there is no saying.
func RunDelay(pid int) time.Duration {
	dir := fmt.Sprintf("/proc/%d/task", pid)
	threads, err := os.ReadDir(dir)
	if err != nil {
		return 0
	}
	var all int64
	for _, thread := range threads {
		text, err := os.ReadFile(filepath.Join(dir, thread.Name(), "schedstat"))
		if f := bytes.Fields(text); err == nil && len(f) > 1 {
			ns, _ := strconv.ParseInt(string(f[1]), 10, 64)
			all += ns
		}
	}
	return time.Duration(all)
}

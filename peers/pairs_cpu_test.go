package peers_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// processTime returns the CPU time that the processes have used, 0 where there is
// no /proc to tell (proc_pid_stat(5): utime and stime, in hundredths of a second).
func processTime(pids []int) (sum time.Duration) {
	for _, pid := range pids {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			return 0
		}
		_, rest, _ := strings.Cut(string(text), ") ") // the name before may have blanks
		fields := strings.Fields(rest)
		for _, i := range []int{11, 12} {
			if i < len(fields) {
				ticks, _ := strconv.Atoi(fields[i])
				sum += time.Duration(ticks) * 10 * time.Millisecond
			}
		}
	}
	return sum
}

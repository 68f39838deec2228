package machine

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU reads the process's clock of CPU time. Its id is made of the process id as
// in clock_getcpuclockid(3); reading the clock of another process requires no permission.
func processCPU(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED of linux/posix-timers_types.h: the time counted by the scheduler, in ns
	var t unix.Timespec
	if pid <= 0 || pid > math.MaxInt32>>3 || unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

package machine

import (
	"math"
	"time"

	"golang.org/x/sys/unix"
)

// processCPU reads the process's CPU-time clock, by clock_getcpuclockid(3)'s id, unprivileged.
func processCPU(pid int) (time.Duration, bool) {
	const scheduled = 2 // CPUCLOCK_SCHED of linux/posix-timers_types.h, in ns
	var t unix.Timespec
	if pid <= 0 || pid > math.MaxInt32>>3 || unix.ClockGettime(int32(^pid<<3|scheduled), &t) != nil {
		return 0, false
	}
	return time.Duration(t.Nano()), true
}

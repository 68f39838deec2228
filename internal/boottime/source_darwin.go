package boottime

import "golang.org/x/sys/unix"

const source = unix.CLOCK_MONOTONIC_RAW // mach_continuous_time; Go's is mach_absolute_time

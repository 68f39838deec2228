package machine

import "golang.org/x/sys/unix"

// Monotonic reads a clock that is the same for every process of the machine and is never
// set: CLOCK_MONOTONIC, in ns. Go's own monotonic times are of it, and mean nothing to
// another process.
func Monotonic() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano()
}

package chaos

import "golang.org/x/sys/unix"

// now reads the clock of all events: CLOCK_MONOTONIC, which is the same for every
// process of the machine.
func now() int64 {
	var t unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &t); err != nil {
		panic(err) // every Linux has it
	}
	return t.Nano()
}

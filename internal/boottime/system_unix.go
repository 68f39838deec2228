//go:build linux || darwin

package boottime

import (
	"time"

	"golang.org/x/sys/unix"
)

// system returns a clock that counts during a suspend, or nil.
func system() func() time.Duration {
	if unix.ClockGettime(source, new(unix.Timespec)) != nil {
		return nil
	}
	return func() time.Duration {
		var t unix.Timespec
		unix.ClockGettime(source, &t)
		return time.Duration(t.Nano())
	}
}

//go:build !linux

package ranks

import "time"

// monotonic is the time since this process began, in ns.
func monotonic() int64 { return int64(time.Since(own.began)) }

// ClockName names the clock of this process, which no other reads.
func ClockName() string { return ownClock() }

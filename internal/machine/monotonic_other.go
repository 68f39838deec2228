//go:build !linux

package machine

import "time"

// Monotonic reads the wall clock, in ns: the same for every process of the machine, but it may be
// set. On Linux it is CLOCK_MONOTONIC, which is never set.
func Monotonic() int64 { return time.Now().UnixNano() }

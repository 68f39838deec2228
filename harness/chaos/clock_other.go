//go:build !linux

package chaos

import "time"

// now reads the clock of all events: the wall clock, which processes share. That it
// may be set is the reason to run scenarios on Linux.
func now() int64 { return time.Now().UnixNano() }

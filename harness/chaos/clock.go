package chaos

import "locklab/internal/machine"

// now reads the clock of all events.
func now() int64 { return machine.Monotonic() }

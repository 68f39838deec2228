package chaos

import "locklab/internal/machine"

func now() int64 { return machine.Monotonic() }

//go:build !linux

package lab

import "locklab/harness"

// futexUnavailable says why there is no futex here.
const futexUnavailable = "the futex is a system call of Linux"

func newFutex(harness.Setup) harness.Local { panic("mutex: " + futexUnavailable) }

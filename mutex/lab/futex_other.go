//go:build !linux

package lab

import "locklab/harness"

// futexUnavailable is the reason why this system has no futex, or "".
const futexUnavailable = "the futex is a system call of Linux"

func newFutex(harness.Setup) harness.Local { panic("mutex: " + futexUnavailable) }

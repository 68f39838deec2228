//go:build !linux

package mutex

import "locklab/harness"

const futexUnavailable = "the futex is a system call of Linux"

func newFutex(harness.Setup) harness.Local { panic("mutex: " + futexUnavailable) }

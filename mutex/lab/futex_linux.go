package lab

import (
	"locklab/harness"
	"locklab/mutex"
)

// futexUnavailable is the reason why this system has no futex, or "".
const futexUnavailable = ""

func newFutex(harness.Setup) harness.Local { return harness.Shared(new(mutex.Futex)) }

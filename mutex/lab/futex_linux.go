package lab

import (
	"locklab/harness"
	"locklab/mutex"
)

// futexUnavailable says why there is no futex here.
const futexUnavailable = ""

func newFutex(harness.Setup) harness.Local { return harness.Shared(new(mutex.Futex)) }

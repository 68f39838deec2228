package harness

import (
	"context"
	"time"
)

// A Loop drives all workers of a measurement inside the process of the lock, such as
// threads of a Java process. So no time includes a message between processes. It drives
// the lock called key for w.Warmup, so that the queue forms, and then for w.Window, and
// returns the acquisitions of both. Its error wraps ErrUsage if it cannot drive w: the
// caller then uses the workers of Variant.Remote. It is never called for an open loop.
type Loop func(ctx context.Context, at Endpoint, key string, w Workload) (*LoopLog, error)

// A LoopLog records the work of the workers of a Loop. Times are ns since Began.
type LoopLog struct {
	Began        time.Time
	Open, Close  int64         // the window
	Acquisitions []Acquisition // in and around the window, in any order
	Wire         *Counts       // in the window; nil if it was not counted
}

// An Acquisition is one acquisition of a Loop.
type Acquisition struct {
	Worker    int
	Requested int64 // before the worker asked
	Acquired  int64
	Releasing int64 // before the worker released
}

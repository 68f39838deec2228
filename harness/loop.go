package harness

import (
	"context"
	"time"
)

// A Loop drives all workers of a measurement where the lock lives, such as
// threads of a Java process, so that no message between processes is in a time. It
// drives them for w.Warmup, which is for the queue to form, and then for w.Window,
// on the lock called key, and returns what they did in both. Its error wraps
// ErrUsage if it cannot drive w: then the workers are those of Variant.Remote. It is
// never asked for an open loop.
type Loop func(ctx context.Context, at Endpoint, key string, w Workload) (*LoopLog, error)

// A LoopLog is what the workers of a Loop did. Times are ns since Began.
type LoopLog struct {
	Began        time.Time
	Open, Close  int64         // the window
	Acquisitions []Acquisition // in and around the window, in any order
	Wire         *Counts       // in the window; nil if it was not counted
}

// An Acquisition is one of a Loop.
type Acquisition struct {
	Worker    int
	Requested int64 // before the worker asked
	Acquired  int64
	Releasing int64 // before the worker released
}

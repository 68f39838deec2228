package wire

import (
	"sync/atomic"

	"locklab/harness"
)

// A Counter counts wire traffic. Its zero value is ready; any number of
// connections and goroutines may share it.
type Counter struct {
	requests      atomic.Uint64
	notifications atomic.Uint64
}

var _ harness.Counter = (*Counter)(nil)

// Counts returns the traffic so far.
func (c *Counter) Counts() harness.Counts {
	return harness.Counts{Requests: c.requests.Load(), Notifications: c.notifications.Load()}
}

package zksession

import "sync/atomic"

// A Counter counts packets. Its zero value is ready; any number of connections and
// goroutines may share it.
type Counter struct {
	requests      atomic.Uint64
	notifications atomic.Uint64
}

// Traffic returns how many requests were sent and how many watch events came.
func (c *Counter) Traffic() (requests, notifications uint64) {
	return c.requests.Load(), c.notifications.Load()
}

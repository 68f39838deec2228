package zksession

import "sync/atomic"

// A Counter counts packets. Its zero value is ready; it is safe for concurrent use.
type Counter struct {
	requests      atomic.Uint64
	notifications atomic.Uint64
}

// Traffic returns the numbers of sent requests and received watch events.
func (c *Counter) Traffic() (requests, notifications uint64) {
	return c.requests.Load(), c.notifications.Load()
}

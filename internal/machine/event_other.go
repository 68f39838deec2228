//go:build !linux

package machine

import "runtime"

// ProbeEvents reports that no event can be counted.
func ProbeEvents() []EventStatus {
	var all []EventStatus
	for _, c := range OpenCounters() {
		all = append(all, EventStatus{Event: c.count.Event, Reason: c.count.Reason})
	}
	return all
}

// OpenCounters returns the reason why each event cannot be counted.
func OpenCounters() Counters {
	var c Counters
	for _, e := range events {
		c = append(c, opened{count: Count{Event: e.name, Reason: "counting events is offered on Linux, and this is " + runtime.GOOS}})
	}
	return c
}

// Read returns the reasons.
func (c Counters) Read() []Count {
	var counts []Count
	for _, o := range c {
		counts = append(counts, o.count)
	}
	return counts
}

// Close does nothing.
func (Counters) Close() error { return nil }

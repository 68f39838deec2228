//go:build !linux

package machine

import "runtime"

// ProbeEvents reports that no event can be counted.
func ProbeEvents() []EventStatus {
	var all []EventStatus
	for _, e := range events {
		all = append(all, EventStatus{Event: e.name, Reason: notLinux()})
	}
	return all
}

func notLinux() string { return "counting events is offered on Linux, and this is " + runtime.GOOS }

func (c *Counters) open() {
	for _, e := range events {
		c.counts = append(c.counts, opened{count: Count{Event: e.name, Reason: notLinux()}})
	}
}

func (o opened) read() Count { return o.count }

func (c *Counters) close() error { return nil }

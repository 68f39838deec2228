package page

import (
	"time"

	"locklab/harness"
)

// serve changes one axis of distributed locks from its default.
func serve(axis int, w *harness.Workload) {
	switch axis {
	case 0:
		w.Servers = 3
	case 1:
		w.Durable = true
	case 2:
		w.TLS = true
	case 3:
		w.Delay = 1
	case 4:
		w.Clients = 1
	}
}

func scrambleAxes(w *harness.Workload, flags uint64) {
	w.Pin = harness.Pins[flags%3]
	w.Wait = harness.WaitPolicies[flags>>4%6]
	w.Garbage = flags>>8&1 == 1
	w.Section = []harness.Section{harness.SectionWork, harness.SectionMap, harness.CacheLines(16), "z"}[flags>>10&3]
	w.Locks, w.Reads, w.Clients = int(flags>>12%5), int(flags>>16%101), int(flags>>24%3)
	w.Think = harness.Span{Mean: time.Duration(flags >> 28 % 2), Exp: flags>>29&1 == 1}
	w.Servers, w.Durable, w.TLS, w.Delay = int(flags>>36%4), flags>>40&1 == 1, flags>>41&1 == 1, time.Duration(flags>>44%2)
	w.Rate, w.Deadline = harness.Rate([]float64{0, 0, 500, -3, 1e300, 1e-300}[flags>>48%6]), time.Duration(flags>>52&1)
	if flags>>32&1 == 1 { // values that no flag gives
		w.Pin, w.Wait, w.Locks, w.Reads, w.Servers, w.Delay, w.Arrivals = "x", "y", -1, -7, -3, -1, "z"
	}
}

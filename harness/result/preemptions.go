package result

import "locklab/harness"

// Preemptions is the involuntary context switches per acquisition: how often the kernel
// took the processor from a running thread of the process. That may be a waiter that
// polls, or the holder. [Switches] counts waiters that sleep.
//
// Source: getrusage(2).
var Preemptions = closed(&Metric{
	Name:   "preemptions",
	Unit:   "preemptions/op",
	Doc:    "involuntary context switches per acquisition",
	Paper:  "getrusage(2), ru_nivcsw",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		return perOwn(r, float64(r.CPU.Involuntary))
	},
})

package result

import "locklab/harness"

// Starved is the share of the workers' slices of the window with no finished acquisition,
// in percent: the worker waited, for the lock or for a processor, while others may have
// been served. Slices are as in [Jain]. If holds and thinks take a tenth of a slice or
// more, a worker may have had no time to finish one, and there is no figure.
//
// Source: the "starve" of BenchmarkMutexCapture in the Go runtime
// (runtime/runtime_test.go), which weights the stretches without a worker by time; here
// they are compared with one length.
var Starved = &Metric{
	Name:   "starved",
	Unit:   "starved-%",
	Doc:    "share of the workers' slices of 20 ms (60 ms of locks kept by servers) in which a worker finished no acquisition",
	Paper:  "Go runtime, BenchmarkMutexCapture",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		if asking := r.Workload.Hold.Mean + r.Workload.Think.Mean; 10*asking > scale(r) {
			return 0, false
		}
		var starved, all int
		for counts := range sliced(r) {
			for _, n := range counts {
				if all++; n == 0 {
					starved++
				}
			}
		}
		if all == 0 {
			return 0, false
		}
		return 100 * float64(starved) / float64(all), true
	},
}

// Unserved is the longest time of the window without a finished acquisition of a worker,
// in ns: the time between two of its stop checks, which follow each acquisition that
// takes long. It grows with the window.
//
// Source: as [Starved].
var Unserved = &Metric{
	Name:   "unserved",
	Unit:   "unserved-ns",
	Doc:    "longest time in which a worker finished no acquisition: it is one moment, and no longer than the window",
	Paper:  "Go runtime, BenchmarkMutexCapture",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		return float64(r.Unserved), r.Unserved > 0
	},
}

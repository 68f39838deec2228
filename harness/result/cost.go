package result

import "locklab/harness"

// CPU is the processor time of the measuring process, user and system, per acquisition,
// in nanoseconds. It shows the cost of waiting by polling. It includes the critical
// section if that is calibrated work, and never includes servers.
//
// Source: getrusage(2); as a cost of waiting: A. Karlin, K. Li, M. Manasse, S. Owicki,
// "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP
// 1991.
var CPU = closed(&Metric{
	Name:   "cpu",
	Unit:   "cpu-ns/op",
	Doc:    "processor time of the measuring process per acquisition",
	Paper:  "Karlin et al. 1991",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		v, ok := per(float64(r.CPU.Time.Nanoseconds()), r.Ops)
		return v, ok && r.CPU.Time > 0
	},
})

// Switches is the voluntary context switches per acquisition: how often a thread of the
// process gave up its processor in order to wait.
var Switches = closed(&Metric{
	Name:   "switches",
	Unit:   "switches/op",
	Doc:    "voluntary context switches per acquisition",
	Paper:  "getrusage(2), ru_nvcsw",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		return perOwn(r, float64(r.CPU.Voluntary))
	},
})

// Allocs is the heap objects allocated per acquisition.
var Allocs = &Metric{
	Name:   "allocs",
	Unit:   "allocs/op",
	Doc:    "heap objects allocated per acquisition",
	Paper:  "Go runtime/metrics, /gc/heap/allocs:objects",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		return perOwn(r, float64(r.CPU.Allocs))
	},
}

func perOwn(r *harness.Result, total float64) (float64, bool) {
	v, ok := per(total, r.Ops)
	return v, ok && r.CPU != (harness.CPU{})
}

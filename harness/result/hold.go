package result

import "locklab/harness"

// Hold is the mean time from grant to release of the sampled acquisitions, in
// nanoseconds. It exceeds the workload's hold time by the guarded counter and the owner
// log, a reading of the clock, and the holder's time without a processor, during which
// all others wait. It is missing if the samples cannot be representative, because all
// holds would not fit into the window.
//
// Source: the critical section and its preempted holder in A. Karlin, K. Li, M. Manasse,
// S. Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory
// Multiprocessor", SOSP 1991.
var Hold = floored(&Metric{
	Name:   "hold",
	Unit:   "hold-ns/op",
	Doc:    "mean time from grant to release",
	Paper:  "Karlin et al. 1991",
	Better: "",
}, func(r *harness.Result) (float64, bool) {
	mean := r.Hold.Mean()
	return mean, r.Hold.N > beyond && fitting(r, mean, r.Ops)
}, func(r *harness.Result) float64 { return MeanFloor(r, r.Hold.N) })

package metric

import "locklab/harness"

// Hold is the mean time from grant to release of the sampled acquisitions, in
// nanoseconds. It is longer than the workload asks for: by the guarded counter
// and the owner log, by a reading of the clock, and by the time in which a
// holder had no processor, which all others wait for. It is missing where the
// samples cannot be like the rest, because all holds would not fit into the
// window.
//
// Source: the critical section and its preempted holder in A. Karlin, K. Li,
// M. Manasse, S. Owicki, "Empirical Studies of Competitive Spinning for a
// Shared-Memory Multiprocessor", SOSP 1991.
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

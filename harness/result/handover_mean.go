package result

import "locklab/harness"

// HandoverMean is the mean time from release to the grant of another worker, in
// nanoseconds: the cost of a handover in the time per acquisition, next to the [Hold]. It
// is far above the median, [HandoverTime], if the next owner sometimes has no processor.
// It is missing if all handovers of that mean would not fit into the window.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), whose ns/op
// is a mean.
var HandoverMean = floored(&Metric{
	Name:   "handover-mean",
	Unit:   "mean-handover-ns/op",
	Doc:    "mean time from release to the grant of another worker",
	Paper:  "Go runtime, BenchmarkMutexHandoff",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) {
	mean := r.Handover.Mean()
	return mean, r.Handover.Count() > beyond && fitting(r, mean, r.Handovers)
}, func(r *harness.Result) float64 { return MeanFloor(r, r.Handover.Count()) })

package result

import "locklab/harness"

// Overlap is the share of the measured span during which all workers ran, in percent.
// Below 100, part of the figures comes from less contention than the workload promises.
//
// Source: full_concurrency_fraction of Arm's lockhammer,
// github.com/ARM-software/synchronization-benchmarks.
var Overlap = &Metric{
	Name:   "overlap",
	Unit:   "overlap-%",
	Doc:    "share of the measured span during which all workers ran",
	Paper:  "Arm lockhammer",
	Better: Higher,
	Of:     func(r *harness.Result) (float64, bool) { return 100 * r.Overlap, r.Overlap > 0 },
}

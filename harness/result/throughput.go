package result

import "locklab/harness"

// Throughput is acquisitions of all workers per second of the measured window. An
// immediate reacquisition counts like any other; [Handovers] does not count it.
var Throughput = &Metric{
	Name:   "throughput",
	Unit:   "acq/s",
	Doc:    "acquisitions of all workers per second",
	Paper:  "Mellor-Crummey & Scott 1991",
	Better: Higher,
	Of: func(r *harness.Result) (float64, bool) {
		return float64(r.Ops) / r.Elapsed.Seconds(), r.Elapsed > 0
	},
}

package result

import "locklab/harness"

// Time is the measured window divided by the acquisitions in it, in nanoseconds: the time
// from one acquisition to the next by any worker. The Go benchmark format calls it ns/op.
// It is not the time that one worker waits; see [P50].
var Time = &Metric{
	Name:   "time",
	Unit:   "ns/op",
	Doc:    "wall time of the window divided by the acquisitions of all workers",
	Paper:  "Go benchmark data format, golang.org/design/14313-benchmark-format",
	Better: Lower,
	Of: func(r *harness.Result) (float64, bool) {
		return per(float64(r.Elapsed.Nanoseconds()), r.Ops)
	},
}

package result

import "locklab/harness"

// Time is the window divided by its acquisitions, in ns: from one to the next by any worker.
// It is ns/op of Go benchmarks, not a worker's wait: see [P50].
var Time = metric("time", "ns/op", "wall time of the window divided by the acquisitions of all workers",
	"Go benchmark data format, golang.org/design/14313-benchmark-format", Lower,
	func(r *harness.Result) (float64, bool) { return ratio(float64(r.Elapsed), float64(r.Ops)) })

// Throughput is acquisitions per second of all workers, with reacquisitions: see [Handovers].
var Throughput = metric("throughput", "acq/s", "acquisitions of all workers per second", "Mellor-Crummey & Scott 1991", Higher,
	func(r *harness.Result) (float64, bool) { return ratio(float64(r.Ops), r.Elapsed.Seconds()) })

// Handovers is the number of handovers between workers per second. Unlike [Throughput],
// an owner that reacquires the lock at once cannot raise it. A slow lock invites that: it
// then seldom changes hands.
//
// Source: the node hand-offs of Z. Radović, E. Hagersten, "Hierarchical Backoff Locks for
// Nonuniform Communication Architectures", HPCA 2003, counted between workers instead of
// NUMA nodes.
var Handovers = closed(metric("handovers", "handovers/s", "acquisitions per second whose predecessor was another worker", "Radović & Hagersten 2003", Higher,
	func(r *harness.Result) (float64, bool) {
		v, ok := ratio(float64(r.Handovers), r.Elapsed.Seconds())
		return v, ok && r.Ordered() && max(len(r.Workers), r.Workload.Workers) > 1
	}))

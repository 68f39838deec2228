package result

import "locklab/harness"

// Handovers is the number of handovers between workers per second. Unlike [Throughput],
// an owner that reacquires the lock at once cannot raise it. A slow lock invites that: it
// then seldom changes hands.
//
// Source: the node hand-offs of Z. Radović, E. Hagersten, "Hierarchical Backoff Locks for
// Nonuniform Communication Architectures", HPCA 2003, counted between workers instead of
// NUMA nodes.
var Handovers = closed(&Metric{
	Name:   "handovers",
	Unit:   "handovers/s",
	Doc:    "acquisitions per second whose predecessor was another worker",
	Paper:  "Radović & Hagersten 2003",
	Better: Higher,
	Of: func(r *harness.Result) (float64, bool) {
		return float64(r.Handovers) / r.Elapsed.Seconds(), r.Elapsed > 0 && r.Ordered() && max(len(r.Workers), r.Workload.Workers) > 1
	},
})

// HandoverTime is the median time from release to the grant of another worker, in
// nanoseconds: how long the lock is idle while a worker waits for it. With think time, it
// includes time without any request. Under [Floor] it is missing.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), which
// measures that time for two threads.
var HandoverTime = floored(&Metric{
	Name:   "handover-time",
	Unit:   "handover-ns/op",
	Doc:    "median time from release to the grant of another worker",
	Paper:  "Go runtime, BenchmarkMutexHandoff",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) { return Quantile(r.Handover, 0.5) }, Floor)

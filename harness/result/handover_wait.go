package result

import "locklab/harness"

// HandoverWaitP99 is the 99th percentile of the time from request to grant of the
// acquisitions whose predecessor was another worker, in nanoseconds. If one worker
// repeatedly reacquires the lock, most acquisitions wait for nothing, and [P99] is a free
// lock's; this metric is the wait of the others. It exists for distributed locks, and is
// missing if the samples do not resolve it.
//
// Source: the quantiles of G. Tene, "How NOT to Measure Latency", 2013, of the node
// hand-offs of Z. Radović, E. Hagersten, HPCA 2003.
var HandoverWaitP99 = floored(&Metric{
	Name:   "handover-wait-p99",
	Unit:   "p99-handover-wait-ns/op",
	Doc:    "99 in 100 acquisitions that took the lock from another worker waited no longer",
	Paper:  "Tene 2013",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) { return Quantile(r.HandoverWait, 0.99) }, Floor)

package metric

import "locklab/harness"

// HandoverWaitP99 is the 99th percentile of the time from request to grant of the
// acquisitions whose predecessor was another worker, in nanoseconds. Where one
// worker takes back again and again what it has just released, most acquisitions
// wait for nothing, and [P99] is that of a free lock; this is what the others
// wait. It is of locks kept by servers, and missing where the samples do not
// resolve it.
//
// Source: the quantiles of G. Tene, "How NOT to Measure Latency", 2013, of the
// node hand-offs of Z. Radović, E. Hagersten, HPCA 2003.
var HandoverWaitP99 = floored(&Metric{
	Name:   "handover-wait-p99",
	Unit:   "p99-handover-wait-ns/op",
	Doc:    "99 in 100 acquisitions that took the lock from another worker waited no longer",
	Paper:  "Tene 2013",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) { return Quantile(r.HandoverWait, 0.99) }, Floor)

package result

import (
	"math"

	"locklab/harness"
)

// The quantiles of the time from request to grant, in nanoseconds, of the sampled
// acquisitions. They are missing if the samples do not resolve them. A figure under
// [Floor] belongs to the clock, not the lock, and is missing too: AtMost gives the floor.
// The largest sample is not the longest wait, so there is no maximum.
//
// Source: G. Tene, "How NOT to Measure Latency", 2013: quote quantiles of the whole
// distribution, and only quantiles that the number of samples supports.
var (
	P50  = wait("wait-p50", "p50-ns/op", "half of the sampled acquisitions waited no longer", 0.5)
	P99  = wait("wait-p99", "p99-ns/op", "99 in 100 sampled acquisitions waited no longer", 0.99)
	P999 = wait("wait-p999", "p999-ns/op", "999 in 1000 sampled acquisitions waited no longer", 0.999)
)

func wait(name, unit, doc string, q float64) *Metric {
	return floored(metric(name, unit, doc, "Tene 2013", Lower, func(r *harness.Result) (float64, bool) { return Quantile(r.Wait, q) }), Floor)
}

// floored removes the figures of m that are under the floor of their result: then m has
// only a bound.
func floored(m *Metric, floor func(r *harness.Result) float64) *Metric {
	of := m.Of
	m.Of = func(r *harness.Result) (float64, bool) {
		v, ok := of(r)
		if !ok || v < floor(r) {
			return math.NaN(), false
		}
		return v, true
	}
	m.AtMost = func(r *harness.Result) (float64, bool) {
		v, ok := of(r)
		return floor(r), ok && v < floor(r)
	}
	return m
}

// HandoverTime is the median time from release to another worker's grant, in ns, with any time
// without a request. Under [Floor] it is missing.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), which measures
// that time for two threads.
var HandoverTime = floored(metric("handover-time", "handover-ns/op", "median time from release to the grant of another worker",
	"Go runtime, BenchmarkMutexHandoff", Lower,
	func(r *harness.Result) (float64, bool) { return Quantile(r.Handover, 0.5) }), Floor)

// HandoverMean is the mean time from release to another worker's grant, in ns. It is far above
// the median, [HandoverTime], if the next owner sometimes has no processor. It is missing if
// all handovers of that mean would not fit into the window.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), whose ns/op is a
// mean.
var HandoverMean = floored(metric("handover-mean", "mean-handover-ns/op", "mean time from release to the grant of another worker",
	"Go runtime, BenchmarkMutexHandoff", Lower,
	func(r *harness.Result) (float64, bool) {
		mean := r.Handover.Mean()
		return mean, r.Handover.Count() > beyond && fitting(r, mean, r.Handovers)
	}), func(r *harness.Result) float64 { return MeanFloor(r, r.Handover.Count()) })

// HandoverWaitP99 is the 99th percentile from request to grant, in ns, of the acquisitions
// whose predecessor was another worker: [P99] without reacquisitions. It exists for
// distributed locks, if the samples resolve it.
//
// Source: the quantiles of G. Tene, "How NOT to Measure Latency", 2013, of the node hand-offs
// of Z. Radović, E. Hagersten, HPCA 2003.
var HandoverWaitP99 = floored(metric("handover-wait-p99", "p99-handover-wait-ns/op",
	"99 in 100 acquisitions that took the lock from another worker waited no longer", "Tene 2013", Lower,
	func(r *harness.Result) (float64, bool) { return Quantile(r.HandoverWait, 0.99) }), Floor)

// Hold is the mean time from grant to release, in ns. It exceeds the workload's hold by the
// counter and the log, a reading of the clock, and time without a processor. It is missing if
// all holds of that mean would not fit into the window.
//
// Source: the critical section and its preempted holder in A. Karlin, K. Li, M. Manasse, S.
// Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP
// 1991.
var Hold = floored(metric("hold", "hold-ns/op", "mean time from grant to release", "Karlin et al. 1991", "",
	func(r *harness.Result) (float64, bool) {
		mean := r.Hold.Mean()
		return mean, r.Hold.N > beyond && fitting(r, mean, r.Ops)
	}), func(r *harness.Result) float64 { return MeanFloor(r, r.Hold.N) })

// beyond observations must lie above a quantile: ten give that count to about a third.
const beyond = 10

// Quantile returns quantile q of h, and false if fewer than ten observations lie above
// it. It ignores the clock: do not quote a value under [Floor].
func Quantile(h harness.Histogram, q float64) (value float64, ok bool) {
	if q > Resolved(h.Count()) {
		return math.NaN(), false
	}
	return h.Quantile(q), true
}

// Resolved returns the greatest quantile that n observations resolve, 0 if they resolve none.
func Resolved(n int64) float64 {
	if n <= beyond {
		return 0
	}
	return 1 - float64(beyond)/float64(n)
}

// Needed returns the number of observations that resolve quantile q.
func Needed(q float64) int64 { return int64(math.Ceil(beyond / (1 - q))) }

// Floor returns the least latency, in ns, that r's clock can resolve: five times its floor and
// step. A smaller figure is "at most the floor". It is never subtracted: quantiles of
// differences are not differences of quantiles.
func Floor(r *harness.Result) float64 {
	return 5 * (r.ClockFloor + r.ClockStep)
}

// MeanFloor returns the least mean of n spans, in ns, that r's clock can resolve. The error of
// its steps averages out. The other error is one reading a span, at the floor a fifth of the
// figure. It is not subtracted, because processors overlap it with the timed code.
func MeanFloor(r *harness.Result, n int64) float64 {
	return 5 * (r.ClockFloor + r.ClockStep/math.Sqrt(float64(max(1, n))))
}

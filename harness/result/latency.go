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

// HandoverTime is the median time from release to the grant of another worker, in
// nanoseconds: how long the lock is idle while a worker waits for it. With think time, it
// includes time without any request. Under [Floor] it is missing.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), which
// measures that time for two threads.
var HandoverTime = floored(metric("handover-time", "handover-ns/op", "median time from release to the grant of another worker",
	"Go runtime, BenchmarkMutexHandoff", Lower,
	func(r *harness.Result) (float64, bool) { return Quantile(r.Handover, 0.5) }), Floor)

// HandoverMean is the mean time from release to the grant of another worker, in
// nanoseconds: the cost of a handover in the time per acquisition, next to the [Hold]. It
// is far above the median, [HandoverTime], if the next owner sometimes has no processor.
// It is missing if all handovers of that mean would not fit into the window.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), whose ns/op
// is a mean.
var HandoverMean = floored(metric("handover-mean", "mean-handover-ns/op", "mean time from release to the grant of another worker",
	"Go runtime, BenchmarkMutexHandoff", Lower,
	func(r *harness.Result) (float64, bool) {
		mean := r.Handover.Mean()
		return mean, r.Handover.Count() > beyond && fitting(r, mean, r.Handovers)
	}), func(r *harness.Result) float64 { return MeanFloor(r, r.Handover.Count()) })

// HandoverWaitP99 is the 99th percentile of the time from request to grant of the
// acquisitions whose predecessor was another worker, in nanoseconds. If one worker
// repeatedly reacquires the lock, most acquisitions wait for nothing, and [P99] is a free
// lock's; this metric is the wait of the others. It exists for distributed locks, and is
// missing if the samples do not resolve it.
//
// Source: the quantiles of G. Tene, "How NOT to Measure Latency", 2013, of the node
// hand-offs of Z. Radović, E. Hagersten, HPCA 2003.
var HandoverWaitP99 = floored(metric("handover-wait-p99", "p99-handover-wait-ns/op",
	"99 in 100 acquisitions that took the lock from another worker waited no longer", "Tene 2013", Lower,
	func(r *harness.Result) (float64, bool) { return Quantile(r.HandoverWait, 0.99) }), Floor)

// Hold is the mean time from grant to release of the sampled acquisitions, in
// nanoseconds. It exceeds the workload's hold time by the guarded counter and the owner
// log, a reading of the clock, and the holder's time without a processor, during which
// all others wait. It is missing if the samples cannot be representative, because all
// holds would not fit into the window.
//
// Source: the critical section and its preempted holder in A. Karlin, K. Li, M. Manasse,
// S. Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory
// Multiprocessor", SOSP 1991.
var Hold = floored(metric("hold", "hold-ns/op", "mean time from grant to release", "Karlin et al. 1991", "",
	func(r *harness.Result) (float64, bool) {
		mean := r.Hold.Mean()
		return mean, r.Hold.N > beyond && fitting(r, mean, r.Ops)
	}), func(r *harness.Result) float64 { return MeanFloor(r, r.Hold.N) })

// beyond is the number of observations that must lie above a quantile to quote it: with
// ten, the count above the true quantile is known to about a third.
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

// Floor returns the least latency, in nanoseconds, whose quantiles r's clock can resolve:
// five times its floor and step together. A smaller figure is reported as "at most the
// floor". The floor is never subtracted, because quantiles of a difference are not
// differences of quantiles.
func Floor(r *harness.Result) float64 {
	return 5 * (r.ClockFloor + r.ClockStep)
}

// MeanFloor returns the least mean of n spans, in nanoseconds, that r's clock can
// resolve. A mean is more accurate than a quantile. The steps of the clock fall anywhere
// in a span, so their error averages out over n spans. The remaining error is one reading
// of the clock in each span, which at the floor is a fifth of the figure. It is not
// subtracted, because a processor executes a part of it in parallel with the timed code.
func MeanFloor(r *harness.Result, n int64) float64 {
	return 5 * (r.ClockFloor + r.ClockStep/math.Sqrt(float64(max(1, n))))
}

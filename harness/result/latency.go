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
	of := func(r *harness.Result) (float64, bool) { return Quantile(r.Wait, q) }
	return floored(&Metric{Name: name, Unit: unit, Doc: doc, Paper: "Tene 2013", Better: Lower}, of, Floor)
}

// floored sets m.Of to of, unless the figure is under the floor of its result: then m has
// only a bound.
func floored(m *Metric, of func(r *harness.Result) (float64, bool), floor func(r *harness.Result) float64) *Metric {
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

// Resolved returns the greatest quantile that n observations resolve, 0 if they resolve
// none.
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

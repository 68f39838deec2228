package result

import "math"

// Time is the window divided by its acquisitions, in ns: from one to the next by any worker.
// It is ns/op of Go benchmarks, not a worker's wait: see [P50].
var Time = metric("time", "ns/op", "wall time of the window divided by the acquisitions of all workers",
	"Go benchmark data format, golang.org/design/14313-benchmark-format", Lower,
	func(r *Result) (float64, bool) { return ratio(float64(r.Elapsed), float64(r.Ops)) })

// Throughput is acquisitions per second of all workers, with reacquisitions: see [Handovers].
var Throughput = metric("throughput", "acq/s", "acquisitions of all workers per second", "Mellor-Crummey & Scott 1991", Higher,
	func(r *Result) (float64, bool) { return ratio(float64(r.Ops), r.Elapsed.Seconds()) })

// Handovers is the number of handovers between workers per second. Unlike [Throughput],
// an owner that reacquires the lock at once cannot raise it. A slow lock invites that: it
// then seldom changes hands.
//
// Source: the node hand-offs of Z. Radović, E. Hagersten, "Hierarchical Backoff Locks for
// Nonuniform Communication Architectures", HPCA 2003, counted between workers instead of
// NUMA nodes.
var Handovers = closed(metric("handovers", "handovers/s", "acquisitions per second whose predecessor was another worker", "Radović & Hagersten 2003", Higher,
	func(r *Result) (float64, bool) {
		v, ok := ratio(float64(r.Handovers), r.Elapsed.Seconds())
		return v, ok && r.Ordered() && max(len(r.Workers), r.Workload.Workers) > 1
	}))

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
	return floored(metric(name, unit, doc, "Tene 2013", Lower, func(r *Result) (float64, bool) { return Quantile(r.Wait, q) }), Floor)
}

// MomentP99 is p99 of the wait that a worker is in at a random moment of its waiting, in ns.
var MomentP99 = closed(floored(metric("wait-moment", "p99-moment-ns/op", "99 % of all waiting is in waits no longer than this",
	"Go runtime, BenchmarkMutexCapture", Lower, func(r *Result) (float64, bool) {
		_, ok := Quantile(r.Wait, 0.99)
		return r.Wait.TimeQuantile(0.99), ok
	}), Floor))

// floored removes the figures of m that are under the floor of their result: then m has
// only a bound.
func floored(m *Metric, floor func(r *Result) float64) *Metric {
	read := m.Read
	m.Read = func(r *Result) Reading {
		x := read(r)
		if least := floor(r); x.Known && x.Value < least {
			return Reading{Value: least, Known: true, Bound: true}
		}
		return x
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
	func(r *Result) (float64, bool) { return Quantile(r.Handover, 0.5) }), Floor)

// HandoverMean is the mean time from release to another worker's grant, in ns. It is far above
// the median, [HandoverTime], if the next owner sometimes has no processor. It is missing if
// all handovers of that mean would not fit into the window.
//
// Source: BenchmarkMutexHandoff of the Go runtime (runtime/runtime_test.go), whose ns/op is a
// mean.
var HandoverMean = floored(metric("handover-mean", "mean-handover-ns/op", "mean time from release to the grant of another worker",
	"Go runtime, BenchmarkMutexHandoff", Lower,
	func(r *Result) (float64, bool) {
		mean := r.Handover.Mean()
		return mean, r.Handover.Count() > beyond && fitting(r, mean, r.Handovers)
	}), func(r *Result) float64 { return MeanFloor(r, r.Handover.Count()) })

// HandoverWaitP99 is the 99th percentile from request to grant, in ns, of the acquisitions
// whose predecessor was another worker: [P99] without reacquisitions. It exists for
// distributed locks, if the samples resolve it.
//
// Source: the quantiles of G. Tene, "How NOT to Measure Latency", 2013, of the node hand-offs
// of Z. Radović, E. Hagersten, HPCA 2003.
var HandoverWaitP99 = floored(metric("handover-wait-p99", "p99-handover-wait-ns/op",
	"99 in 100 acquisitions that took the lock from another worker waited no longer", "Tene 2013", Lower,
	func(r *Result) (float64, bool) { return Quantile(r.HandoverWait, 0.99) }), Floor)

// Hold is the mean time from grant to release, in ns. It exceeds the workload's hold by the
// counter and the log, a reading of the clock, and time without a processor. It is missing if
// all holds of that mean would not fit into the window.
//
// Source: the critical section and its preempted holder in A. Karlin, K. Li, M. Manasse, S.
// Owicki, "Empirical Studies of Competitive Spinning for a Shared-Memory Multiprocessor", SOSP
// 1991.
var Hold = floored(metric("hold", "hold-ns/op", "mean time from grant to release", "Karlin et al. 1991", "",
	func(r *Result) (float64, bool) {
		mean := r.Hold.Mean()
		return mean, r.Hold.N > beyond && fitting(r, mean, r.Ops)
	}), func(r *Result) float64 { return MeanFloor(r, r.Hold.N) })

// beyond observations must lie above a quantile: ten give that count to about a third.
const beyond = 10

// Quantile returns quantile q of h, and false if fewer than ten observations lie above
// it. It ignores the clock: do not quote a value under [Floor].
func Quantile(h Histogram, q float64) (value float64, ok bool) {
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

// ResolvedTime returns the greatest quantile over time that h resolves, 0 if it resolves none:
// the ten greatest observations together are the rest of the sum.
func (h Histogram) ResolvedTime() float64 {
	var greatest, n int64
	for i := len(h) - 1; i >= 0 && n < beyond; i-- {
		some := min(h[i].N, beyond-n)
		greatest, n = greatest+some*h[i].Value, n+some
	}
	if n < beyond || greatest == 0 {
		return 0
	}
	return 1 - float64(greatest)/(h.Mean()*float64(h.Count()))
}

// Needed returns the number of observations that resolve quantile q.
func Needed(q float64) int64 { return int64(math.Ceil(beyond / (1 - q))) }

// Floor returns the least latency, in ns, that r's clock can resolve: five times its floor and
// step. A smaller figure is "at most the floor". It is never subtracted: quantiles of
// differences are not differences of quantiles.
func Floor(r *Result) float64 {
	return 5 * (r.ClockFloor + r.ClockStep)
}

// MeanFloor returns the least mean of n spans, in ns, that r's clock can resolve. The error of
// its steps averages out. The other error is one reading a span, at the floor a fifth of the
// figure. It is not subtracted, because processors overlap it with the timed code.
func MeanFloor(r *Result, n int64) float64 {
	return 5 * (r.ClockFloor + r.ClockStep/math.Sqrt(float64(max(1, n))))
}

// A worker's time is hold, think and the rest: waiting, and the calls. Hold and think are
// sampled means times acquisitions. The rest is a difference, because a worker that starves
// has no sampled wait.

// timeShares returns the shares of holds and thinks in the workers' time, in percent, and
// false if their error may exceed five points. A measured span contains a reading of the
// clock, which must be short relative to an acquisition.
func timeShares(r *Result) (hold, think float64, ok bool) {
	const points = 5
	if r.Ops == 0 || r.Elapsed <= 0 || r.Hold.N <= beyond || !fitting(r, r.Hold.Mean(), r.Ops) {
		return 0, 0, false
	}
	period := float64(r.Elapsed) * float64(len(r.Workers)) / float64(r.Ops)
	readings := r.ClockFloor
	hold = 100 * r.Hold.Mean() / period
	if r.Workload.Think.Mean > 0 {
		if r.Think.N <= beyond {
			return 0, 0, false
		}
		think = 100 * r.Think.Mean() / period
		readings += r.ClockFloor
	}
	return hold, think, 100*readings <= points*period && hold+think <= 100+points
}

const slack = 1.05

// fitting reports whether n spans of this mean fit into the window, else samples are not
// representative. Spans that may overlap, of readers or several permits or locks, always fit.
func fitting(r *Result, mean float64, n uint64) bool {
	if r.Workload.Reads > 0 || r.Workload.Locks > 1 || r.Lock.Traits.Permits > 1 || r.Elapsed == 0 {
		return true
	}
	return mean*float64(n) <= slack*float64(r.Elapsed)
}

// HoldShare is the share of the workers' time during which they held the lock, in percent.
// Without readers it is at most 100/n; the difference is the lock's idle time.
//
// Source: the lock opportunity of Y. Patel, L. Yang, L. Arulraj, A. Arpaci-Dusseau, R.
// Arpaci-Dusseau, M. Swift, "Avoiding Scheduler Subversion using Scheduler-Cooperative Locks",
// EuroSys 2020, of all workers together.
var HoldShare = closed(metric("hold-share", "hold-%", "share of the workers' time in which they held the lock", "Patel et al. 2020", "",
	func(r *Result) (float64, bool) {
		hold, _, ok := timeShares(r)
		return hold, ok
	}))

// WaitShare is the share of the workers' time that is neither hold nor think, in percent:
// waiting, taking and releasing. It is a difference of sampled means, so a worker that hardly
// waits may get 0.
//
// Source: the time per acquisition less work in T. Anderson, "The Performance of Spin Lock
// Alternatives for Shared-Memory Multiprocessors", TPDS 1(1), 1990.
var WaitShare = closed(metric("wait-share", "wait-%", "share of the workers' time that is neither hold nor think", "Anderson 1990", Lower,
	func(r *Result) (float64, bool) {
		hold, think, ok := timeShares(r)
		return max(0, 100-hold-think), ok
	}))

// HandoverShare is the share of the window, in percent, in which the lock was released and not
// yet granted to another worker, with any time without a request. The rest is [HoldShare]
// times the workers, and reacquisition.
//
// Source: the handover of J. Mellor-Crummey, M. Scott, "Algorithms for Scalable
// Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, as a part of the time
// per critical section.
var HandoverShare = closed(HandoverMean.derive("handover-share", "handover-%",
	"share of the window in which the lock was on its way from one worker to another", "Mellor-Crummey & Scott 1991", "",
	func(r *Result, mean float64) (float64, bool) {
		v, ok := ratio(100*mean*float64(r.Handovers), float64(r.Elapsed))
		return min(100, v), ok
	}))

// RoundTrip is the duration of a bare request to the server of the lock around the
// window, in nanoseconds: the unit of the metrics below. See [Result.RoundTrip].
//
// Source: the round-trip delay of G. Almes, S. Kalidindi, M. Zekauskas, "A Round-trip
// Delay Metric for IPPM", RFC 2681, 1999, between programs in place of hosts.
var RoundTrip = metric("roundtrip", "roundtrip-ns/op", "bare request to the server and its answer, around the window", "RFC 2681", Lower,
	func(r *Result) (float64, bool) {
		// A value under a nanosecond, or over a quarter of an hour, is damaged.
		return r.RoundTrip, r.RoundTrip >= 1 && r.RoundTrip < 1e12
	})

// The times of a distributed lock in units of the bare round trip around the same window: the
// efficiency of its protocol, comparable between paths. One request takes at least one round
// trip; a write, or a late answer, takes more. A path whose speed changes in the window may
// give a little under the protocol's minimum. The figures are missing without a round trip.
//
// Source: the synchronization delay and the response time of M. Singhal, "A Taxonomy of
// Distributed Mutual Exclusion", JPDC 18(1), 1993, which are given in message delays, measured
// in place of counted.
var (
	HandoverRoundTrips = inRoundTrips("handover-roundtrips", "roundtrips/handover",
		"median handover over the bare round trip to the server", HandoverTime)
	P50RoundTrips = inRoundTrips("wait-p50-roundtrips", "p50-roundtrips/op",
		"median wait over the bare round trip to the server", P50)
	P99RoundTrips = inRoundTrips("wait-p99-roundtrips", "p99-roundtrips/op",
		"99th percentile of the waits over the bare round trip to the server", P99)
	PeriodRoundTrips = inRoundTrips("period-roundtrips", "roundtrips/period",
		"time from one handover to the next, of one worker from one acquisition to the next, over the bare round trip to the server", handoverPeriod)
)

// handoverPeriod is the window divided by the handovers. A single worker hands over to itself.
// A window without a handover is one period of at least that length: leaving it out would
// leave the quick ones. With several holders at once there are no periods.
var handoverPeriod = metric("", "", "", "", "", func(r *Result) (float64, bool) {
	n := r.Handovers
	if len(r.Workers) == 1 {
		n = r.Ops
	}
	if r.Elapsed <= 0 || !r.Ordered() || r.Workload.Rate > 0 || r.Workload.Reads > 0 || r.Workload.Locks > 1 || r.Lock.Traits.Permits > 1 {
		return 0, false
	}
	return float64(r.Elapsed) / float64(max(1, n)), true
})

func inRoundTrips(name, unit, doc string, m *Metric) *Metric {
	return m.derive(name, unit, doc, "Singhal 1993", Lower, func(r *Result, ns float64) (float64, bool) {
		trip, ok := RoundTrip.Of(r)
		return ns / trip, ok
	})
}

// HandoverTransfers is the median handover in units of [Result.Transfer]: the
// efficiency of the algorithm on its machine, comparable if the machine slowed down between
// rounds. A handover takes at least one; a farther or sleeping worker costs more. It is
// missing without a transfer, or under the [Floor].
//
// Source: the remote memory references of J. Mellor-Crummey, M. Scott, "Algorithms for
// Scalable Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, measured in
// place of counted.
var HandoverTransfers = HandoverTime.derive("handover-transfers", "transfers/handover",
	"median handover over the time of a word from one processor to another", "Mellor-Crummey & Scott 1991", Lower,
	func(r *Result, ns float64) (float64, bool) { return ratio(ns, r.Transfer) })

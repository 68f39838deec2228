package result

import "locklab/harness"

// The figures of an open loop. Its achieved rate is [Throughput]. The waits, from the intended
// start of an acquisition, are [P50], [P99] and [P999]. A closed loop has no such figures. An
// open loop has no figures of single workers: any free worker takes an arrival.

// Offered is arrivals per second of an open loop: the workload's rate, as drawn in this
// window.
//
// Source: open and closed systems in B. Schroeder, A. Wierman, M. Harchol-Balter, "Open
// Versus Closed: A Cautionary Tale", NSDI 2006.
var Offered = loaded("offered", "offered/s", "acquisitions per second that an open loop asked for", "Schroeder, Wierman & Harchol-Balter 2006", "",
	func(r *harness.Result) (float64, bool) {
		return float64(r.Open.Offered) / r.Open.Span.Seconds(), r.Open.Span > 0
	})

// Goodput is the granted share of an open loop's requests, in percent: acquisitions by the
// deadline over arrivals. It is a little above 100 if the window begins with more in progress
// than it ends with.
//
// Source: as [Offered]; the word is from S. Floyd, K. Fall, "Promoting the Use of End-to-End
// Congestion Control in the Internet", IEEE/ACM ToN 7(4), 1999.
var Goodput = loaded("goodput", "goodput-%", "rate granted by the deadline, if there is one, over the rate that an open loop asked for", "Floyd & Fall 1999", Higher,
	func(r *harness.Result) (float64, bool) {
		offered, ok := Offered.Of(r)
		granted, known := Throughput.Of(r)
		return 100 * granted / offered, ok && known && offered > 0
	})

// Dropped is the share of the arrivals of an open loop that did not have the lock by the
// deadline of the workload, in percent.
//
// Source: the balking and reneging customers of queueing theory; F. Haight, "Queueing
// with Reneging", Metrika 2, 1959.
var Dropped = loaded("dropped", "dropped-%", "share of the arrivals of an open loop that had not got the lock by the deadline", "Haight 1959", Lower,
	func(r *harness.Result) (float64, bool) {
		return ofArrivals(r, r.Open.Dropped)
	})

// Backlog is the number of arrivals of an open loop that were neither served nor dropped
// at the end of the window: if the lock does not keep up, it grows with the window.
//
// Source: as [Offered].
var Backlog = loaded("backlog", "backlog", "arrivals of an open loop that were waiting or being served as the window ended", "Schroeder, Wierman & Harchol-Balter 2006", Lower,
	func(r *harness.Result) (float64, bool) { return float64(r.Open.Backlog), true })

// Late is the share of arrivals that found all workers busy, in percent. Their waits count
// from the intended start, but the lock did not see them in its queue then.
//
// Source: coordinated omission in G. Tene, "How NOT to Measure Latency", 2013: a load
// generator hides the requests that it does not send.
var Late = loaded("late", "late-%", "share of the arrivals of an open loop that found all workers busy", "Tene 2013", Lower,
	func(r *harness.Result) (float64, bool) { return ofArrivals(r, r.Open.Late) })

// The limits for a lock to sustain a load. Beyond the saturation point, the knee of the
// curve of waits over the load, a lock fails them.
//
// Source: the knee of a delay curve in L. Kleinrock, "Power and Deterministic Rules of Thumb
// for Probabilistic Problems in Computer Communications", ICC 1979. We chose these two limits.
const (
	LeastGoodput = 95 // granted percent of the load
	MostSlowdown = 10 // p99 of the waits relative to an unloaded lock
)

func ofArrivals(r *harness.Result, n uint64) (float64, bool) {
	return 100 * float64(n) / float64(r.Open.Offered), r.Open.Offered > 0
}

func loaded(name, unit, doc, paper, better string, of reader) *Metric {
	return metric(name, unit, doc, paper, better, func(r *harness.Result) (float64, bool) {
		if r.Open == nil {
			return 0, false
		}
		return of(r)
	})
}

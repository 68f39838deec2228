package metric

import "locklab/harness"

// The figures of an open loop. What its lock achieves is [Throughput], and how long an
// acquisition waited, from when it was meant to begin, are [P50], [P99] and [P999]. A
// closed loop has none of these, and an open one none of those that tell which worker
// did what: its workers are whichever were free.

// Offered is arrivals per second of an open loop: the rate that the workload asks for,
// as the draw of this window had it.
//
// Source: open and closed systems in B. Schroeder, A. Wierman, M. Harchol-Balter, "Open
// Versus Closed: A Cautionary Tale", NSDI 2006.
var Offered = loaded(&Metric{
	Name:   "offered",
	Unit:   "offered/s",
	Doc:    "acquisitions per second that an open loop asked for",
	Paper:  "Schroeder, Wierman & Harchol-Balter 2006",
	Better: "",
}, func(r *harness.Result) (float64, bool) {
	return float64(r.Open.Offered) / r.Open.Span.Seconds(), r.Open.Span > 0
})

// Goodput is what an open loop was granted of what it asked for, in percent: the rate
// of acquisitions, without those that came after the deadline, over that of
// arrivals. It is around 100 as long as the lock keeps up, and a little above it
// where the window begins with more acquisitions under way than it ends with.
//
// Source: as [Offered]; the word is that of S. Floyd, K. Fall, "Promoting the Use of
// End-to-End Congestion Control in the Internet", IEEE/ACM ToN 7(4), 1999.
var Goodput = loaded(&Metric{
	Name:   "goodput",
	Unit:   "goodput-%",
	Doc:    "rate granted by the deadline, if there is one, over the rate that an open loop asked for",
	Paper:  "Floyd & Fall 1999",
	Better: Higher,
}, func(r *harness.Result) (float64, bool) {
	offered, ok := Offered.Of(r)
	granted, known := Throughput.Of(r)
	return 100 * granted / offered, ok && known && offered > 0
})

// Dropped is the share of the arrivals of an open loop that had not got the lock by the
// deadline of the workload, in percent.
//
// Source: the balking and reneging customers of queueing theory; F. Haight, "Queueing
// with Reneging", Metrika 2, 1959.
var Dropped = loaded(&Metric{
	Name:   "dropped",
	Unit:   "dropped-%",
	Doc:    "share of the arrivals of an open loop that had not got the lock by the deadline",
	Paper:  "Haight 1959",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) {
	return ofArrivals(r, r.Open.Dropped)
})

// Backlog is how many arrivals of an open loop were neither served nor dropped as the
// window ended: where the lock does not keep up, it grows with the window.
//
// Source: as [Offered].
var Backlog = loaded(&Metric{
	Name:   "backlog",
	Unit:   "backlog",
	Doc:    "arrivals of an open loop that were waiting or being served as the window ended",
	Paper:  "Schroeder, Wierman & Harchol-Balter 2006",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) { return float64(r.Open.Backlog), true })

// Late is the share of the arrivals of an open loop that found all workers busy, in
// percent. Their waits count from when they were meant to begin, but the lock
// did not see them then: with more workers it would have had a longer queue.
//
// Source: coordinated omission in G. Tene, "How NOT to Measure Latency", 2013: what a
// load generator does not send is what it hides.
var Late = loaded(&Metric{
	Name:   "late",
	Unit:   "late-%",
	Doc:    "share of the arrivals of an open loop that found all workers busy",
	Paper:  "Tene 2013",
	Better: Lower,
}, func(r *harness.Result) (float64, bool) { return ofArrivals(r, r.Open.Late) })

// What a lock must do at a load to be up to it: where it no longer does lies the knee of
// its curve of waits over the load.
//
// Source: the knee of a delay curve in L. Kleinrock, "Power and Deterministic Rules of
// Thumb for Probabilistic Problems in Computer Communications", ICC 1979. These two
// limits are of our choice.
const (
	LeastGoodput = 95 // percent of the load that is granted
	MostSlowdown = 10 // p99 of the waits over that of an unloaded lock
)

// ofArrivals returns n in percent of the arrivals of r.
func ofArrivals(r *harness.Result, n uint64) (float64, bool) {
	return 100 * float64(n) / float64(r.Open.Offered), r.Open.Offered > 0
}

// loaded gives m the figure of, of results of an open loop.
func loaded(m *Metric, of func(r *harness.Result) (float64, bool)) *Metric {
	m.Of = func(r *harness.Result) (float64, bool) {
		if r.Open == nil {
			return 0, false
		}
		return of(r)
	}
	return m
}

// closed takes the figures of m away from results of an open loop.
func closed(m *Metric) *Metric {
	of, atMost := m.Of, m.AtMost
	m.Of = func(r *harness.Result) (float64, bool) {
		if r.Workload.Rate > 0 {
			return 0, false
		}
		return of(r)
	}
	if atMost != nil {
		m.AtMost = func(r *harness.Result) (float64, bool) {
			if r.Workload.Rate > 0 {
				return 0, false
			}
			return atMost(r)
		}
	}
	return m
}

package result

import "locklab/harness"

// RoundTrip is the duration of a bare request to the server of the lock around the
// window, in nanoseconds: the unit of the metrics below. See [harness.Result.RoundTrip].
//
// Source: the round-trip delay of G. Almes, S. Kalidindi, M. Zekauskas, "A Round-trip
// Delay Metric for IPPM", RFC 2681, 1999, between programs in place of hosts.
var RoundTrip = metric("roundtrip", "roundtrip-ns/op", "bare request to the server and its answer, around the window", "RFC 2681", Lower,
	func(r *harness.Result) (float64, bool) {
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
		"median hand-over over the bare round trip to the server", HandoverTime)
	P50RoundTrips = inRoundTrips("wait-p50-roundtrips", "p50-roundtrips/op",
		"median wait over the bare round trip to the server", P50)
	P99RoundTrips = inRoundTrips("wait-p99-roundtrips", "p99-roundtrips/op",
		"99th percentile of the waits over the bare round trip to the server", P99)
	TurnRoundTrips = inRoundTrips("turn-roundtrips", "roundtrips/turn",
		"time from one hand-over to the next, of one worker from one acquisition to the next, over the bare round trip to the server", handoverPeriod)
)

// handoverPeriod is the window divided by the handovers. A single worker hands over to itself.
// A window without a handover is one period of at least that length: leaving it out would
// leave the quick ones. With several holders at once there are no periods.
var handoverPeriod = &Metric{Of: func(r *harness.Result) (float64, bool) {
	n := r.Handovers
	if len(r.Workers) == 1 {
		n = r.Ops
	}
	if r.Elapsed <= 0 || !r.Ordered() || r.Workload.Rate > 0 || r.Workload.Reads > 0 || r.Workload.Locks > 1 || r.Lock.Traits.Permits > 1 {
		return 0, false
	}
	return float64(r.Elapsed) / float64(max(1, n)), true
}}

func inRoundTrips(name, unit, doc string, m *Metric) *Metric {
	return m.derive(name, unit, doc, "Singhal 1993", Lower, func(r *harness.Result, ns float64) (float64, bool) {
		trip, ok := RoundTrip.Of(r)
		return ns / trip, ok
	})
}

// HandoverTransfers is the median handover in units of [harness.Result.Transfer]: the
// efficiency of the algorithm on its machine, comparable if the machine slowed down between
// rounds. A handover takes at least one; a farther or sleeping worker costs more. It is
// missing without a transfer, or under the [Floor].
//
// Source: the remote memory references of J. Mellor-Crummey, M. Scott, "Algorithms for
// Scalable Synchronization on Shared-Memory Multiprocessors", TOCS 9(1), 1991, measured in
// place of counted.
var HandoverTransfers = HandoverTime.derive("handover-transfers", "transfers/handover",
	"median hand-over over the time of a word from one processor to another", "Mellor-Crummey & Scott 1991", Lower,
	func(r *harness.Result, ns float64) (float64, bool) { return ratio(ns, r.Transfer) })

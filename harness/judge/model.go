package judge

import (
	"cmp"
	"math"

	"locklab/harness/result"
	"locklab/internal/stat"
)

// A PredictedTime is a prediction or a measurement, in ns.
type PredictedTime struct {
	Value float64

	// Lo and Hi are the interval of a measurement. Of a prediction they are the times if the
	// other clients add nothing, and if they add as much as near the servers, at the bounds.
	Lo, Hi float64
}

// A Model predicts the times of one lock.
type Model struct {
	Lock  result.Lock
	Trips *result.Trips // nil if they were not counted

	// Rounds returns the lock's rounds near the servers with some number of workers, if
	// any, of workloads that fit: see [FitsModel].
	Rounds func(workers int) []*result.Result
}

// Near returns the times by metric x near the servers, with their interval; N is 0 without them.
func (m *Model) Near(x *result.Metric, workers int) stat.Summary { return x.Summary(m.Rounds(workers)) }

func (m *Model) trip(workers int) float64 { return result.RoundTrip.Summary(m.Rounds(workers)).Median }

// Predict returns the time of s with workers at a round trip of trip ns. If why is not empty,
// it is the reason for a missing value; t may still have bounds.
func (m *Model) Predict(s *PredictedSituation, workers int, trip float64) (t PredictedTime, why string) {
	switch {
	case m.Trips == nil:
		return PredictedTime{}, notCounted
	case s.Alone:
		workers = 1
	}
	t, why = s.of(m, workers, trip)
	const much = 1e15 // 11 days: it is damage
	if within := t.Lo > -much && t.Hi < much; !within || why == "" && !(t.Value > 0 && t.Value < much) {
		return PredictedTime{}, cmp.Or(why, contradict)
	}
	return t, why
}

// Why there is no prediction.
const (
	notCounted   = "its trips were not counted"
	contradict   = "the figures contradict each other"
	notAlone     = "needs the lock with 1 worker and no delay"
	notContended = "was not measured so without a delay"
	noTrip       = "no bare round trip was measured"
	several      = "several may hold it at once"
	polls        = "polls: waiters ask again after a pause"
	noTrips      = "takes no trip alone"
	unordered    = "serves in no order: a request under way may be first"
	idle         = "too few workers: the queue is sometimes empty"
)

// alone returns the median wait of one worker: k round trips, which grow with the distance,
// and the constant time of the lock and its server.
func (m *Model) alone(trip float64) (PredictedTime, string) {
	near, from := m.Near(result.P50, 1), m.trip(1)
	switch {
	case near.N == 0:
		return PredictedTime{}, notAlone
	case math.IsNaN(from):
		return PredictedTime{}, noTrip
	}
	return shifted(near, m.Trips.Lock.RoundTrips()*(trip-from)), ""
}

func shifted(v stat.Summary, by float64) PredictedTime {
	return PredictedTime{v.Median + by, v.Lo + by, v.Hi + by}
}

// handover returns the median handover. Requests of other clients make it longer than its
// round trips for a single client, since all wait for the same processors. Near the servers
// the addition is the difference of the two. It follows the number of requests per second,
// so farther away it falls with the rate of handovers:
//
//	T(r) = p(r) + (T₀ - p₀)·T₀/T(r),  p(r) = k·(a + r - r₀)
//
// with T₀ and p₀ near the servers, k the round trips of a handover and a the time of one for a
// single client. At r₀ it is T₀, and far away p(r). The term is the utilization law (X·D) as
// the waiting of E. Lazowska, J. Zahorjan, G. Graham, K. Sevcik, "Quantitative System
// Performance", 1984, chapters 3 and 5, with the same bounds: no request waits for another, or
// each waits as long as near the servers. It holds while the queue is never empty.
func (m *Model) handover(workers int, trip float64) (PredictedTime, string) {
	path, why := m.path(workers)
	near := m.Near(result.HandoverTime, workers)
	switch {
	case why != "":
		return PredictedTime{}, why
	case near.N == 0:
		return PredictedTime{}, notContended
	}
	if !m.Lock.Traits.FIFO {
		// Two trips of a handover are certain: the release, and the answer to a request
		// that was under way, from any client.
		path.trips = min(path.trips, 1)
		least := path.among(near, trip)
		path.trips = m.Trips.Behind.Handover.RoundTrips()
		return PredictedTime{Lo: least.Lo, Hi: path.among(near, trip).Hi}, unordered
	}
	return path.among(near, trip), ""
}

// A path is the round trips of a handover.
type path struct {
	trips float64 // in sequence
	each  stat.Summary
	alone float64 // the round trip at which a client alone took each for one
	from  float64 // the round trip at which contention was measured
}

func (m *Model) path(workers int) (p path, why string) {
	b, one := m.Trips.Behind, m.Near(result.P50, 1)
	p = path{alone: m.trip(1), from: m.trip(workers)}
	switch {
	case b == nil:
		return p, several
	case b.Polls:
		return p, polls
	case one.N == 0:
		return p, notAlone
	case m.Trips.Lock.Halves == 0:
		return p, noTrips
	case len(m.Rounds(workers)) > 0 && math.IsNaN(p.from) || math.IsNaN(p.alone):
		return p, noTrip
	case m.queueSometimesEmpty(workers):
		return p, idle
	}
	p.trips, p.each = b.Handover.RoundTrips(), one
	for _, v := range []*float64{&p.each.Median, &p.each.Lo, &p.each.Hi} {
		*v /= m.Trips.Lock.RoundTrips()
	}
	return p, ""
}

func (m *Model) queueSometimesEmpty(workers int) bool {
	b := m.Trips.Behind
	return (workers-1)*b.Handover.Halves < b.Unlock.Halves+b.Queue.Halves
}

// among returns the time of the path at a round trip, if it was near where it was measured.
func (p path) among(near stat.Summary, trip float64) PredictedTime {
	farther := p.trips * (trip - p.from)
	// If a single client is no quicker than the contenders, which keep processors awake, these
	// add nothing.
	free := func(each, contenders float64) float64 { return min(p.trips*(each+p.from-p.alone), contenders) }
	here := free(p.each.Median, near.Median)
	added, there := near.Median-here, here+farther
	return PredictedTime{
		Value: (there + math.Sqrt(there*there+4*added*near.Median)) / 2,
		Lo:    free(p.each.Lo, near.Lo) + farther,
		Hi:    near.Hi + farther,
	}
}

// behind returns the median wait of a lock that serves in order. Each worker has the lock once
// in a rotation, so a worker's acquisitions are as many periods apart as there are workers. This
// time is the wait and the worker's own release. A period is the mean time between handovers,
// since a sum of several is not their median times their number; distance adds to it alike.
func (m *Model) behind(workers int, trip float64) (PredictedTime, string) {
	path, why := m.path(workers)
	near, period := m.Near(result.P50, workers), m.Near(handoverPeriod, workers)
	switch {
	case why != "":
		return PredictedTime{}, why
	case !m.Lock.Traits.FIFO:
		return PredictedTime{}, unordered
	case near.N == 0 || period.N == 0:
		return PredictedTime{}, notContended
	}
	t := path.among(period, trip)
	own := m.Trips.Behind.Unlock.RoundTrips() * (trip - path.from)
	longer := func(t float64) float64 { return float64(workers)*(t-period.Median) - own }
	return PredictedTime{near.Median + longer(t.Value), near.Median + longer(t.Lo), near.Median + longer(t.Hi)}, ""
}

// handoverPeriod is the mean time from one handover to the next, in ns.
var handoverPeriod = &result.Metric{Read: func(r *result.Result) result.Reading {
	trips, ok := result.PeriodRoundTrips.Of(r)
	trip, known := result.RoundTrip.Of(r)
	return result.Reading{Value: trips * trip, Known: ok && known}
}}

package judge

import (
	"cmp"
	"math"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// A PredictedTime is a prediction or a measurement, in ns.
type PredictedTime struct {
	Value float64

	// Lo and Hi are for a prediction the times of a crowd that adds nothing and of one
	// that adds as much as it does near the servers, each at the bound of the rounds; for
	// a measurement its interval.
	Lo, Hi float64
}

// A Model predicts the times of one lock.
type Model struct {
	Lock  harness.Lock
	Trips *harness.Trips // nil if they were not counted

	rounds func(workers int) []*harness.Result
}

// NewModel returns the model of a lock whose rounds near the servers, at some number of
// workers, rounds returns: none if it was not measured so. They are of workloads of which
// [Fits] is true.
func NewModel(lock harness.Lock, rounds func(workers int) []*harness.Result) *Model {
	return &Model{Lock: lock, rounds: rounds}
}

// Counted returns m with the trips that are in a result.
func (m *Model) Counted(t *harness.Trips) *Model {
	m.Trips = t
	return m
}

// Near returns what a situation takes near the servers, with its interval; N is 0 if that was
// not measured.
func (m *Model) Near(s *PredictedSituation, workers int) stat.Summary {
	return m.near(s.Metric, workers)
}

func (m *Model) near(x *result.Metric, workers int) stat.Summary { return x.Summary(m.rounds(workers)) }

// trip returns the round trip at which the rounds with so many workers were measured.
func (m *Model) trip(workers int) float64 { return result.RoundTrip.Summary(m.rounds(workers)).Median }

// Predict returns the time of s among workers at a round trip of trip ns; why says in
// words why there is none, though perhaps bounds.
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
	notCounted = "its trips were not counted"
	contradict = "the figures contradict each other"
	notAlone   = "needs the lock with 1 worker and no delay"
	notCrowd   = "was not measured so without a delay"
	noTrip     = "no bare round trip was measured"
	several    = "several may hold it at once"
	polls      = "polls: waiters ask again after a pause"
	noTrips    = "takes no trip alone"
	unordered  = "serves in no order: a request that is under way may be first"
	idle       = "too few workers: the queue is empty now and then"
)

// alone is the median wait of one worker: k round trips, each longer by as much as the
// network is, and what the lock and its server do besides, which stays.
func (m *Model) alone(trip float64) (PredictedTime, string) {
	near, from := m.near(result.P50, 1), m.trip(1)
	switch {
	case near.N == 0:
		return PredictedTime{}, notAlone
	case math.IsNaN(from):
		return PredictedTime{}, noTrip
	}
	return shifted(near, m.Trips.Lock.RoundTrips()*(trip-from)), ""
}

// shifted returns v, all of it so much later.
func shifted(v stat.Summary, by float64) PredictedTime {
	return PredictedTime{v.Median + by, v.Lo + by, v.Hi + by}
}

// handover is the median hand-over. A crowd makes it longer than its round trips are for
// a client alone: requests of all the others wait for the same processors, at the server
// and at the clients. How much that is near the servers is the difference of the two. It
// comes with the others' requests, of which there are so many in each turn; so farther
// away, where turns are fewer in a second, it is less in the same proportion:
//
//	T(r) = p(r) + (T₀ - p₀)·T₀/T(r),  p(r) = k·(a + r - r₀)
//
// with T₀ and p₀ near the servers, k the round trips of a hand-over and a the time that one
// takes to a client alone. At r₀ it is T₀, and far away p(r). Such a term is the utilization
// law (X·D) as the waiting of E. Lazowska, J. Zahorjan, G. Graham, K. Sevcik, "Quantitative
// System Performance", 1984, chapters 3 and 5, whose bounds are those here: no request waits
// for another, and each waits as long as near the servers. That holds while there is always a
// waiter: until a worker is back in the queue, the others have not all been served.
func (m *Model) handover(workers int, trip float64) (PredictedTime, string) {
	path, why := m.path(workers)
	near := m.near(result.HandoverTime, workers)
	switch {
	case why != "":
		return PredictedTime{}, why
	case near.N == 0:
		return PredictedTime{}, notCrowd
	}
	if !m.Lock.Traits.FIFO {
		// Of the trips of a hand-over two are certain: that of the release, and that of
		// the answer to a request that was under way, from whichever client.
		path.trips = min(path.trips, 1)
		least := path.among(near, trip)
		path.trips = m.Trips.Behind.Handover.RoundTrips()
		return PredictedTime{Lo: least.Lo, Hi: path.among(near, trip).Hi}, unordered
	}
	return path.among(near, trip), ""
}

// A path is the round trips of a hand-over.
type path struct {
	trips float64 // in sequence
	each  stat.Summary
	alone float64 // the round trip at which a client alone took each for one
	from  float64 // the round trip at which the crowd was measured
}

// path returns the path of that many workers, or why it is missing.
func (m *Model) path(workers int) (p path, why string) {
	b, one := m.Trips.Behind, m.near(result.P50, 1)
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
	case len(m.rounds(workers)) > 0 && math.IsNaN(p.from) || math.IsNaN(p.alone):
		return p, noTrip
	case m.idle(workers):
		return p, idle
	}
	p.trips, p.each = b.Handover.RoundTrips(), one
	for _, v := range []*float64{&p.each.Median, &p.each.Lo, &p.each.Hi} {
		*v /= m.Trips.Lock.RoundTrips()
	}
	return p, ""
}

// idle reports whether the queue of so many workers is empty now and then.
func (m *Model) idle(workers int) bool {
	b := m.Trips.Behind
	return (workers-1)*b.Handover.Halves < b.Unlock.Halves+b.Queue.Halves
}

// among returns what the path takes at a round trip among a crowd that took near at its own.
func (p path) among(near stat.Summary, trip float64) PredictedTime {
	farther := p.trips * (trip - p.from)
	// Where a client alone is no quicker than the crowd, which does not let processors
	// sleep, the crowd adds nothing.
	free := func(each, crowd float64) float64 { return min(p.trips*(each+p.from-p.alone), crowd) }
	here := free(p.each.Median, near.Median)
	added, there := near.Median-here, here+farther
	return PredictedTime{
		Value: (there + math.Sqrt(there*there+4*added*near.Median)) / 2,
		Lo:    free(p.each.Lo, near.Lo) + farther,
		Hi:    near.Hi + farther,
	}
}

// behind is the median wait of a lock that serves in order. Every worker has the lock once
// while it goes round, so the time from one acquisition of a worker to its next is as many
// turns as there are workers; what of that is no wait is the release, for which the next one
// does not wait. A turn is the mean time between two hand-overs, since the sum of several is
// hardly their median times their number; it is as much longer farther away as a hand-over is.
func (m *Model) behind(workers int, trip float64) (PredictedTime, string) {
	path, why := m.path(workers)
	near, turn := m.near(result.P50, workers), m.near(turn, workers)
	switch {
	case why != "":
		return PredictedTime{}, why
	case !m.Lock.Traits.FIFO:
		return PredictedTime{}, unordered
	case near.N == 0 || turn.N == 0:
		return PredictedTime{}, notCrowd
	}
	t := path.among(turn, trip)
	own := m.Trips.Behind.Unlock.RoundTrips() * (trip - path.from)
	longer := func(t float64) float64 { return float64(workers)*(t-turn.Median) - own }
	return PredictedTime{near.Median + longer(t.Value), near.Median + longer(t.Lo), near.Median + longer(t.Hi)}, ""
}

// turn is the mean time from one hand-over to the next, in ns.
var turn = &result.Metric{Of: func(r *harness.Result) (float64, bool) {
	trips, ok := result.TurnRoundTrips.Of(r)
	trip, known := result.RoundTrip.Of(r)
	return trips * trip, ok && known
}}

package judge_test

import (
	"math"
	"strings"
	"testing"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
)

type world struct {
	trip         float64 // a bare round trip
	work         float64 // per round trip: the work of the server and the client
	contenders   float64 // the others' addition to a handover
	lock, handed float64 // round trips
	release      float64
}

func (w world) rounds(workers int) (rs []*result.Result) {
	wait := w.lock * (w.trip + w.work)
	handover := w.handed*(w.trip+w.work) + w.contenders
	if workers > 1 {
		wait = float64(workers)*handover - w.release*(w.trip+w.work)
	}
	for range 7 {
		r := &result.Result{Lock: result.Lock{Traits: harness.Traits{Needs: harness.KindRedis, FIFO: true}}, Elapsed: time.Second,
			Workload: harness.Workload{Workers: workers, Window: time.Second}, Workers: make([]uint64, workers), RoundTrip: w.trip,
			Wait: result.Histogram{{Value: int64(wait), N: 1000}}, Trips: w.trips()}
		if workers > 1 {
			r.Handover = result.Histogram{{Value: int64(handover), N: 1000}}
			r.Handovers = 1e6
			r.Elapsed = time.Duration(1e6 * handover)
		}
		rs = append(rs, r)
	}
	return rs
}

func legOf(trips float64) result.Leg { return result.Leg{Halves: int(2 * trips), Requests: 1} }

func (w world) trips() *result.Trips {
	return &result.Trips{Lock: legOf(w.lock), Unlock: legOf(w.release),
		Behind: &result.TripsBehind{Queue: legOf(0.5), Handover: legOf(w.handed), Unlock: legOf(w.release)}}
}

func (w world) model() *judge.Model {
	return &judge.Model{Lock: w.rounds(1)[0].Lock, Trips: w.trips(), Rounds: w.rounds}
}

func TestPredict(t *testing.T) {
	for _, w := range []world{
		{trip: 20e3, work: 30e3, lock: 1, handed: 1, release: 1},
		{trip: 50e3, work: 200e3, lock: 2, handed: 2, release: 1},
		{trip: 50e3, work: 200e3, lock: 1, handed: 1.5, release: 1},
	} {
		m := w.model()
		for _, trip := range []float64{w.trip, 1e5, 1e6, 5e6} {
			there := w
			there.trip = trip
			for _, s := range judge.PredictedSituations {
				test, why := m.Check(s, 8, there.rounds(map[bool]int{true: 1, false: 8}[s.Alone]))
				if why != "" || math.Abs(test.Error()) > 1e-6 || test.Trip != trip {
					t.Errorf("%+v at %v, %s: predicted %v of %v, %s", w, trip, s.Name, test.Predicted, test.Measured, why)
				}
			}
		}
	}
}

// TestContenders: contenders add their measured time near the servers, and less farther away.
func TestContenders(t *testing.T) {
	w := world{trip: 20e3, work: 30e3, contenders: 100e3, lock: 1, handed: 1, release: 1}
	m := w.model()
	at := func(trip float64) judge.PredictedTime {
		p, why := m.Predict(judge.Handover, 8, trip)
		if why != "" {
			t.Fatal(why)
		}
		return p
	}
	if p := at(w.trip); math.Abs(p.Value-150e3) > 1 {
		t.Errorf("at the round trip of the measurement %v, which was 150000", p)
	}
	last := w.contenders
	for _, trip := range []float64{50e3, 100e3, 1e6, 1e7} {
		p := at(trip)
		added := p.Value - (trip + w.work)
		if !(added > 0 && added < last) || math.Abs(p.Lo-(trip+w.work)) > 1 || math.Abs(p.Hi-(trip+w.work+w.contenders)) > 1 {
			t.Errorf("at %v: %v, of which the contenders add %v", trip, p, added)
		}
		if want := w.contenders * 150e3 / p.Value; math.Abs(added-want) > 1 {
			t.Errorf("at %v the contenders add %v, want %v: in proportion to the handovers in a second", trip, added, want)
		}
		last = added
	}
	// Contenders that are quicker than a single client, because processors do not fall asleep.
	w.contenders = -10e3
	m = w.model()
	if p := at(w.trip); math.Abs(p.Value-40e3) > 1 {
		t.Errorf("of quicker contenders %v, which was 40000", p)
	}
	if p := at(1e6 + w.trip); math.Abs(p.Value-1040e3) > 1 {
		t.Errorf("of quicker contenders a millisecond farther away %v, want 1040000", p)
	}
}

func TestWrongTrips(t *testing.T) {
	w := world{trip: 20e3, work: 30e3, lock: 2, handed: 2, release: 1}
	there := w
	there.trip = 1e6
	for _, by := range []int{-1, 1} {
		wrong := w.trips()
		wrong.Lock.Halves += by
		wrong.Behind.Handover.Halves += by
		m := w.model()
		m.Trips = wrong
		for _, s := range judge.PredictedSituations {
			workers := map[bool]int{true: 1, false: 8}[s.Alone]
			if test, why := m.Check(s, workers, there.rounds(workers)); why != "" || math.Abs(test.Error()) < 0.15 {
				t.Errorf("%s, %+d halves: off by %.2f only, %s", s.Name, by, test.Error(), why)
			}
		}
	}
}

func TestNotPredicted(t *testing.T) {
	w := world{trip: 20e3, work: 30e3, lock: 1, handed: 1, release: 1}
	edit := func(f func(t *result.Trips)) *judge.Model {
		m := w.model()
		f(m.Trips)
		return m
	}
	without := func(missing int) *judge.Model {
		m := w.model()
		m.Rounds = func(n int) []*result.Result {
			if n == missing {
				return nil
			}
			return w.rounds(n)
		}
		return m
	}
	unordered, uncounted, blind := w.model(), w.model(), w.model()
	unordered.Lock.Traits.FIFO, uncounted.Trips = false, nil
	blind.Rounds = func(n int) []*result.Result {
		rs := w.rounds(n)
		for _, r := range rs {
			r.RoundTrip = 0
		}
		return rs
	}
	for _, test := range []struct {
		m       *judge.Model
		s       *judge.PredictedSituation
		workers int
		want    string
	}{
		{uncounted, judge.Alone, 1, "not counted"},
		{edit(func(t *result.Trips) { t.Behind.Polls = true }), judge.Handover, 8, "polls"},
		{edit(func(t *result.Trips) { t.Behind.Polls = true }), judge.Behind, 8, "polls"},
		{edit(func(t *result.Trips) { t.Behind = nil }), judge.Handover, 8, "several may hold it"},
		{edit(func(t *result.Trips) { t.Lock.Halves = 0 }), judge.Handover, 8, "no trip"},
		{unordered, judge.Behind, 8, "no order"},
		{unordered, judge.Handover, 8, "no order"},
		{w.model(), judge.Handover, 2, "too few workers"},
		{w.model(), judge.Behind, 2, "too few workers"},
		{without(1), judge.Alone, 1, "with 1 worker"},
		{without(1), judge.Handover, 8, "with 1 worker"},
		{without(8), judge.Handover, 8, "without a delay"},
		{blind, judge.Alone, 1, "no bare round trip"},
		{edit(func(t *result.Trips) { t.Lock.Halves = -1 << 30 }), judge.Alone, 1, "contradict"},
	} {
		if p, why := test.m.Predict(test.s, test.workers, 1e6); !strings.Contains(why, test.want) {
			t.Errorf("%s with %d workers: %v, %q, want %q", test.s.Name, test.workers, p, why, test.want)
		}
	}
	w.handed = 2
	unordered = w.model()
	unordered.Lock.Traits.FIFO = false
	if p, _ := unordered.Predict(judge.Handover, 8, 1e6); math.Abs(p.Lo-1030e3) > 1 || math.Abs(p.Hi-2060e3) > 1 {
		t.Errorf("a handover without an order is between %v, want one round trip and two", p)
	}
	if _, why := w.model().Check(judge.Alone, 1, nil); why == "" {
		t.Error("a prediction is held against nothing")
	}
	if p, why := edit(func(t *result.Trips) { t.Behind.Polls = true }).Predict(judge.Alone, 1, 1e6); why != "" {
		t.Errorf("a lock that polls takes alone %v, %s", p, why)
	}
}

func TestFits(t *testing.T) {
	if w := (harness.Workload{Workers: 8, Hold: harness.Span{Mean: 1000}, Servers: 3, Durable: true, Delay: 1}); !judge.FitsModel(w) {
		t.Errorf("%+v does not fit", w)
	}
	for _, w := range []harness.Workload{{Rate: 100}, {Think: harness.Span{Mean: 1}}, {Reads: 90}, {Locks: 2}, {Clients: 1}} {
		if judge.FitsModel(w) {
			t.Errorf("%+v fits", w)
		}
	}
}

func TestSuite(t *testing.T) {
	seen := make(map[string]bool)
	for _, s := range judge.PredictedSituations {
		if s.Name == "" || seen[s.Name] || s.Doc == "" || s.Paper == "" || s.Metric == nil {
			t.Errorf("%+v lacks a unique name, a description, a source or a metric", s)
		}
		seen[s.Name] = true
	}
}

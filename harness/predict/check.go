package predict

import (
	"math"

	"locklab/harness"
	"locklab/harness/metric"
)

// A Test is a prediction beside what was measured at that distance.
type Test struct {
	Situation *Situation
	Workers   int
	Trip      float64 // the bare round trip that was measured there, ns
	Predicted Time
	Measured  Time
}

// Error returns by how much the prediction is over what was measured, as a share of it.
func (t Test) Error() float64 { return t.Predicted.Value/t.Measured.Value - 1 }

// Check holds what m says of s at some number of workers against rounds of the same
// workload farther away: at the bare round trip that was measured around these rounds,
// not at the delay that was asked for. It returns false, and why, if there is nothing to
// hold one against the other.
func (m *Model) Check(s *Situation, workers int, far []*harness.Result) (t Test, why string) {
	trip, seen := metric.RoundTrip.Summary(far), s.Metric.Summary(far)
	t = Test{Situation: s, Workers: workers, Trip: trip.Median}
	if seen.N > 0 && seen.Hi < math.Inf(1) {
		t.Measured = shifted(seen, 0)
	}
	t.Predicted, why = m.Predict(s, workers, trip.Median)
	switch {
	case math.IsNaN(trip.Median):
		why = noTrip
	case why == "" && seen.N == 0:
		why = "too few were timed there to compare"
	}
	return t, why
}

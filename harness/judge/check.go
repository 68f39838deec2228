package judge

import (
	"math"

	"locklab/harness/result"
)

// A PredictionTest is a prediction next to a measurement at that distance.
type PredictionTest struct {
	Trip      float64 // the bare round trip measured there, ns
	Predicted PredictedTime
	Measured  PredictedTime
}

// Error returns the relative error of the prediction.
func (t PredictionTest) Error() float64 { return t.Predicted.Value/t.Measured.Value - 1 }

// Check compares m's prediction for s at some number of workers with rounds of the same
// workload farther away. It uses the bare round trip measured around these rounds, not
// the requested delay. Without a comparison t is incomplete and why is the reason.
func (m *Model) Check(s *PredictedSituation, workers int, far []*result.Result) (t PredictionTest, why string) {
	trip, seen := result.RoundTrip.Summary(far), s.Metric.Summary(far)
	t = PredictionTest{Trip: trip.Median}
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

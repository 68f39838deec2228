package judge

import (
	"locklab/harness"
	"locklab/harness/result"
)

// A PredictedSituation is a time of a lock that a [Model] predicts.
type PredictedSituation struct {
	Name   string         // identifies the situation in tables
	Doc    string         // one line, without a capital or a full stop: the predicted figure and the rule
	Paper  string         // the source of the rule, short form
	Metric *result.Metric // what is predicted, in ns
	Alone  bool           // with one worker; otherwise with several

	// of returns the time at a round trip; why is the reason in words if it is missing.
	of func(m *Model, workers int, trip float64) (t PredictedTime, why string)
}

// The situations.
var (
	Alone = &PredictedSituation{
		Name:   "alone",
		Doc:    "median wait of one worker: the measured wait, plus the longer time of each of its round trips",
		Paper:  "Lamport 1978",
		Metric: result.P50,
		Alone:  true,
		of:     func(m *Model, _ int, trip float64) (PredictedTime, string) { return m.alone(trip) },
	}
	Handover = &PredictedSituation{
		Name:   "handover",
		Doc:    "median handover among several workers: its round trips alone, plus the cost of the contenders, in proportion to the handovers",
		Paper:  "Lazowska et al. 1984",
		Metric: result.HandoverTime,
		of:     (*Model).handover,
	}
	Behind = &PredictedSituation{
		Name:   "behind others",
		Doc:    "median wait among several workers of a lock that serves in order: longer by one period for each worker, less its own release",
		Paper:  "Lazowska et al. 1984",
		Metric: result.P50,
		of:     (*Model).behind,
	}
)

// PredictedSituations lists every situation, in the order of tables.
var PredictedSituations = []*PredictedSituation{Alone, Handover, Behind}

// FitsContenders reports whether [Contenders] can predict a run under w: as [Fits], without
// a delay, with any number of workers for each client.
func FitsContenders(w harness.Workload) bool {
	w.Clients = 0
	return w.Delay == 0 && FitsModel(w)
}

// FitsModel reports whether a run under w is one that a model is about: a closed loop without
// think time, in which every acquisition writes, of one lock, by one worker a client.
func FitsModel(w harness.Workload) bool {
	return w.Rate == 0 && w.Think == (harness.Span{}) && w.Reads == 0 && w.Locks <= 1 && w.Clients == 0
}

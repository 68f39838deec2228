package page

import (
	"fmt"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/reports/chart"
)

// CanPredict returns an error that wraps harness.ErrUsage if nothing can be predicted from
// run. Its line gives the reason: no distributed lock, or missing input for a prediction.
func CanPredict(run *result.Run) error {
	var remote, near, counted bool
	for _, r := range run.Results {
		if r.Lock.Traits.Needs == "" {
			continue
		}
		remote = true
		if r.Workload.Delay == 0 && judge.FitsModel(r.Workload) {
			near = true
			counted = counted || r.Trips != nil
		}
	}
	switch {
	case !remote:
		return fmt.Errorf("%w: a prediction is of locks kept by servers, and the run has none", harness.ErrUsage)
	case !near:
		return fmt.Errorf("%w: a prediction rests on a closed loop without a delay, and the run has none of a lock kept by servers", harness.ErrUsage)
	case !counted:
		return fmt.Errorf("%w: the run does not say how many round trips its locks take: it is of an earlier version, or its servers spoke TLS; measure it again", harness.ErrUsage)
	}
	return nil
}

func distanceSection(d *chart.Distances) section {
	s := section{ID: "distance", Title: "Distributed locks, what distance costs", Slug: "distance", Note: d.Notes() + " Workload: " + d.Load() + ".",
		Folded: len(d.Asked)+len(d.Far) == 0}
	s.Figures = []figure{tableFigure("distance-cost", "What does each lock ask of its servers, and how often does it wait for an answer?", d.CostsAnswer(), d.Costs())}
	if !s.Folded {
		s.Figures = append(s.Figures, tableFigure("distance-predicted", "What would it take at another round trip?", d.Answer(), d.Predictions()))
	}
	return s
}

func contentionSection(d *chart.Contention) section {
	return section{ID: "contenders", Title: "Distributed locks, many contenders", Slug: "contenders", Note: d.Notes(), Folded: len(d.Asked) == 0, Figures: []figure{
		tableFigure("contenders-table", chart.ContendersTitle, d.Answer()+" "+d.Laws(), d.Rows())}}
}

// Predicted returns the tables of predictions that a user asked for, which a terminal shows.
func (doc *document) Predicted() (out []figure) {
	for _, s := range doc.Sections {
		for _, f := range s.Figures {
			if !s.Folded && (f.Name == "distance-predicted" || f.Name == "contenders-table") {
				out = append(out, f)
			}
		}
	}
	return out
}

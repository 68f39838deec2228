package page

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// CanPredict returns an error that wraps harness.ErrUsage if nothing can be predicted from
// run. Its line gives the reason: no distributed lock, or missing input for a prediction.
func CanPredict(run *result.Run) error {
	near := slices.DeleteFunc(slices.Clone(run.Results), func(r *harness.Result) bool {
		return r.Lock.Traits.Needs == "" || r.Workload.Delay != 0 || !judge.FitsModel(r.Workload)
	})
	switch {
	case len(near) == 0:
		return fmt.Errorf("%w: a prediction needs a distributed lock in a closed loop without a delay, and the run has none", harness.ErrUsage)
	case !slices.ContainsFunc(near, func(r *harness.Result) bool { return r.Trips != nil }):
		return fmt.Errorf("%w: the run lacks the number of round trips of its locks: it is of an earlier version, or its servers spoke TLS; measure it again", harness.ErrUsage)
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

// Predicted returns the tables of predictions that a user asked for, as a terminal shows them:
// without rows that have no prediction, whose locks are in Omitted.
func (doc *document) Predicted() (out []figure) {
	for _, s := range doc.Sections {
		for _, f := range s.Figures {
			if s.Folded || f.Name != "distance-predicted" && f.Name != "contenders-table" {
				continue
			}
			reason := len(f.Head) - 1
			var rows [][]string
			var without []string
			for _, row := range f.Rows {
				switch {
				case row[reason] == "" && row[2] != "measured": // in the fit
					rows = append(rows, row[:reason])
				case row[reason] != "" && !slices.Contains(without, row[0]):
					without = append(without, row[0])
				}
			}
			f.Head, f.Rows, f.Omitted = f.Head[:reason], rows, ""
			if without != nil {
				f.Omitted = "Not predicted, for reasons in the report: " + numfmt.List(without, len(without)) + "."
			}
			out = append(out, f)
		}
	}
	return out
}

package page

import (
	"fmt"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A study is the section of the page on one finding.
type study struct {
	ID, Title, Answer string
	Folded            bool   // its charts are folded
	Interrupted       string // "" if the experiment completed
	Warnings          []harness.Warning
	Figures           []figure // one of each table
	Listing           string
	Method, Source    string
	Took              string
	Notes             []string
}

func studies(run *result.Run) (out []study, err error) {
	charts := chart.FindingCharts(run)
	for i, f := range chart.Findings(run) {
		s := study{
			// The number keeps addresses unique if two findings have one name.
			ID: fmt.Sprintf("hardware-%d-%s", i+1, chart.Slug(f, i)), Title: chart.Title(f), Answer: chart.Answer(f),
			Listing: f.Listing, Method: f.Method, Source: numfmt.Sentence(f.Source), Notes: f.Notes,
		}
		if f.Interrupted {
			s.Interrupted = chart.Stopped
		}
		if f.Elapsed > 0 {
			s.Took = f.Elapsed.Round(max(time.Millisecond, f.Elapsed.Truncate(10*time.Second)/100)).String()
		}
		for _, w := range f.Warnings {
			s.Warnings = append(s.Warnings, chart.Readable(w))
		}
		for k, t := range f.Tables {
			c := charts[0]
			charts = charts[1:]
			crowded := t.Chart == harness.Heat && len(t.Columns) > chart.MostHeatColumns
			if crowded {
				c.Pic.Numbers = chart.Table{}
			}
			fig, err := newFigure(c, fmt.Sprintf("%s-%d", s.ID, k+1))
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", f.Name, err)
			}
			if crowded {
				fig.Omitted = fmt.Sprintf("%d by %d figures are too many to read here; results.jsonl has them.", len(t.Rows), len(t.Columns))
			}
			s.Figures = append(s.Figures, fig)
		}
		out = append(out, s)
	}
	return out, nil
}

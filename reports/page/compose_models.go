package page

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// studies returns a section for each experiment of run.
func studies(run *result.Run) (out []section) {
	charts := chart.FindingCharts(run)
	for i, f := range run.Findings {
		s := section{
			// The number keeps addresses unique if two findings have one name.
			ID: fmt.Sprintf("hardware-%d-%s", i+1, chart.Slug(f, i)), Title: "Hardware: " + chart.Title(f), Intro: chart.Answer(f),
			Note: methodText(f), Listing: f.Listing,
		}
		if f.Interrupted {
			s.Intro += " " + chart.Stopped
		}
		for k, t := range f.Tables {
			c := charts[k]
			large := t.Chart == result.Heat && len(t.Columns) > chart.MostHeatColumns
			if large {
				c.Pic.Numbers = chart.Table{}
			}
			fig := newFigure(c, fmt.Sprintf("%s-%d", s.ID, k+1))
			if large {
				fig.Omitted = fmt.Sprintf("%d by %d figures are too many to read here; results.jsonl has them.", len(t.Rows), len(t.Columns))
			}
			if s.Note != "" {
				fig.Method = s.ID + "-note"
			}
			s.Figures = append(s.Figures, fig)
		}
		charts = charts[len(f.Tables):]
		out = append(out, s)
	}
	return out
}

func methodText(f *result.Finding) string {
	var parts phrases
	parts.add(f.Method != "", "Method: %s", f.Method)
	parts.add(f.Source != "", "Source: %s", f.Source)
	return strings.Join(result.Each(append(parts, f.Notes...), numfmt.Sentence), " ")
}

func composeSimulated(run *result.Run) (out []section) {
	models := result.GroupBy(chart.SimulatedCharts(chart.ModelledOf(run)), func(c chart.Named) *chart.Modelled { return c.Model })
	for i, charts := range models {
		m := charts[0].Model
		s := section{ID: fmt.Sprint("simulated-", i+1), Title: "What a model expects on " + m.Name() + " (simulated)", Intro: about(m)}
		if i > 0 && m.Like.Simulated == models[i-1][0].Model.Like.Simulated {
			s.Title += ", " + chart.WorkloadOf(m.Like)
			s.Folded = true
		}
		s.Figures = result.Each(charts, func(c chart.Named) figure { return newFigure(c, c.Name) })
		out = append(out, s)
	}
	return out
}

func about(m *chart.Modelled) string {
	text := fmt.Sprintf("%s Machine: %s, %s. The code of %s ran on a model of caches and a directory; docs/simulation.md has the limits of the model. %s",
		m.Warning(), m.Name(), m.Shape(), numfmt.Plural(len(m.Locks), "lock"), m.Accuracy())
	if m.File {
		text += " The machine, with the source of each of its numbers, is in results.jsonl (kind machine)."
	}
	return text
}

// simulatedOnly makes doc a report without measurements, which no host affects.
func (doc *document) simulatedOnly(run *result.Run) {
	models := chart.ModelledOf(run)
	doc.Title = "What does a model expect of these locks?"
	doc.Origin = "Nothing was measured in this run: all figures are simulated, of " + numfmt.List(chart.MachinesOf(models), 6)
	if commit := run.Manifest.ShortCommit(); commit != "" {
		doc.Origin += " · locklab " + commit
	}
	doc.Quality = quality{Partial: doc.Quality.Partial, Damage: doc.Quality.Damage, Damaged: doc.Quality.Damaged}
	doc.Facts = []fact{{"simulated", numfmt.List(chart.MachinesOf(models), len(models))}, {"locklab", run.Manifest.Commit}}
}

// CanPredict returns an error that wraps harness.ErrUsage, with the conditions, if nothing can
// be predicted from run.
func CanPredict(run *result.Run) error {
	if chart.NewDistance(run, chart.Groups(run)) == nil {
		return fmt.Errorf("%w: a prediction needs a distributed lock in a closed loop without a delay, whose round trips were counted; a run of an earlier version, or of servers that spoke TLS, has no count: measure it again", harness.ErrUsage)
	}
	return nil
}

func distanceSection(d *chart.Distances) section {
	s := section{ID: "distance", Title: "Distributed locks, what distance costs", Slug: "distance", Note: d.Notes() + " Workload: " + d.Load() + ".",
		Folded: len(d.Asked)+len(d.Far) == 0}
	s.Figures = []figure{tableFigure("distance-cost", "How many requests and round trips does each lock need?", d.CostsAnswer(), d.Costs())}
	if !s.Folded {
		s.Figures = append(s.Figures, tableFigure("distance-predicted", "How long would it take at another round trip?", d.Answer(), d.Predictions()))
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

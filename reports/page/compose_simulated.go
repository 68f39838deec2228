package page

import (
	"fmt"
	"slices"
	"strconv"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func composeSimulated(run *result.Run) (out []section, err error) {
	charts := chart.SimulatedCharts(chart.ModelledOf(run))
	for i, c := range charts {
		if i == 0 || c.Model != charts[i-1].Model {
			n := strconv.Itoa(len(out) + 1)
			out = append(out, section{ID: "simulated-" + n, Title: "What a model expects on " + c.Model.Name() + " (simulated)", Intro: about(c.Model)})
			if i > 0 && c.Model.Like.Simulated == charts[i-1].Model.Like.Simulated {
				out[len(out)-1].Title += ", " + chart.WorkloadOf(c.Model.Like)
				out[len(out)-1].Folded = true
			}
		}
		s := &out[len(out)-1]
		f, err := newFigure(c, c.Name)
		if err != nil {
			return nil, err
		}
		s.Figures = append(s.Figures, f)
	}
	return out, nil
}

func about(m *chart.Modelled) string {
	text := fmt.Sprintf("%s Machine: %s, %s. The code of %s ran on a model of caches and a directory; docs/simulation.md says what that carries and what it cannot say.",
		m.Warning(), m.Name(), m.Shape(), m.DrawnLocks())
	if m.File {
		text += " The machine, with the source of each of its numbers, is in results.jsonl (kind machine)."
	}
	return text
}

// expectedText is the only sentence of a verdict about models' predictions, without effect on
// it, or "" if no machine was simulated.
func expectedText(run *result.Run) string {
	var m *chart.Modelled // the largest machine
	for _, x := range chart.ModelledOf(run) {
		if m == nil || x.Like.Threads() > m.Like.Threads() {
			m = x
		}
	}
	if m == nil || m.Fastest() == "" {
		return ""
	}
	return "Expected by model, not measured and not part of the verdict: " + m.Fastest() + "."
}

func simulatedOrigin(run *result.Run) string {
	text := "Nothing was measured in this run: all figures are simulated, of " + numfmt.List(chart.MachinesOf(chart.ModelledOf(run)), 6)
	if commit := run.Manifest.Commit; commit != "" {
		text += " · locklab " + shortCommit(commit)
	}
	return text
}

// simulatedOnly makes doc a report without measurements, which no host affects.
func (doc *document) simulatedOnly(run *result.Run) {
	doc.Title, doc.Origin, doc.Expected = simulatedTitle, simulatedOrigin(run), ""
	doc.Quality = quality{Partial: doc.Quality.Partial, Damage: doc.Quality.Damage}
	doc.Facts = nil
	for _, m := range chart.ModelledOf(run) {
		f := fact{"simulated machine", m.Name() + ": " + m.Shape()}
		if !slices.Contains(doc.Facts, f) {
			doc.Facts = append(doc.Facts, f)
		}
	}
	doc.Facts = append(doc.Facts, fact{"measured", "nothing"})
	if run.Manifest.Commit != "" {
		doc.Facts = append(doc.Facts, fact{"locklab", run.Manifest.Commit})
	}
}

// simulatedTitle is the title of a report without measurements.
const simulatedTitle = "What does a model expect of these locks?"

package page

import (
	"slices"
	"strings"

	"locklab/harness/result"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// Posters returns every chart of run that has something to draw, with its question, answer
// and origin. A chart that compares locks draws its largest group.
func Posters(run *result.Run) (out []draw.Poster) {
	run = chart.Sanitize(run)
	gs := chart.Groups(run)
	faults, _ := chart.FaultCharts(run)
	for _, c := range slices.Concat(chart.FindingCharts(run), faults, chart.SimulatedCharts(chart.ModelledOf(run)), chart.Charts(gs)) {
		if c.Pic.Height == 0 {
			continue
		}
		p := draw.Poster{Name: c.Name, Title: c.Title, Answer: c.Pic.Answer, Note: c.Doc, Data: c.Pic.Data.Sentence(), Foot: origin(run), Picture: c.Pic.Picture}
		if f := c.Finding; f != nil {
			p.Title, p.Caption = chart.Title(f), c.Title
			if f.Interrupted {
				p.Note = strings.TrimSpace(chart.Stopped + " " + p.Note)
			}
		}
		if c.Model != nil {
			p.Foot = simulatedFoot(c.Model, run)
		}
		out = append(out, p)
	}
	return out
}

func simulatedFoot(m *chart.Modelled, run *result.Run) string {
	return strings.TrimSuffix("simulated: "+m.Name()+", "+m.Shape()+" · locklab "+shortCommit(run.Manifest.Commit), " · locklab ")
}

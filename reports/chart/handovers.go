package chart

import (
	"fmt"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// HandoversRemote draws handovers per second over the number of workers. Acquisitions would
// flatter a lock whose owner takes it back while the others sleep between two polls.
var HandoversRemote = &Chart{
	Name:    "throughput-distributed",
	Carries: true,
	Title:   "Which distributed lock is handed over most often as workers are added?",
	Doc:     lineDoc + " A hand-over is an acquisition whose predecessor was another worker: one by the owner that takes the lock back does not count. The table has both.",
	Remote:  true,
	Draw:    drawHandovers,
}

func drawHandovers(g *Group) Picture {
	l := workersChart(g, result.Handovers, draw.LogScale)
	l.Format, l.Figure, l.YTitle = numfmt.SI, numfmt.PerSecond, "hand-overs per second, all workers together (log scale)"
	if len(l.Lines) == 0 {
		return nothing("No lock went from one worker to another in this run, so there is no hand-over to draw.")
	}
	return ofLines(l, handoverAnswer(g)+retaken(g), throughputTable(g), g.source(result.Handovers))
}

func handoverAnswer(g *Group) string {
	w := g.Workers[len(g.Workers)-1]
	fs := g.figures(w, result.Handovers)
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, no lock was handed over.", g.unit(w))
	}
	return fmt.Sprintf("With %s, %s.", g.unit(w), extremes(fs, "the most hand-overs", "the fewest", numfmt.PerSecond))
}

// retaken names the lock most often taken back by its owner, in over half of the acquisitions.
func retaken(g *Group) string {
	w := g.Workers[len(g.Workers)-1]
	name, most := "", 50.0
	for _, s := range g.at(w) {
		ops, over := s.Cells[w].Summary(result.Throughput), s.Cells[w].Summary(result.Handovers)
		if back := 100 - 100*over.Median/ops.Median; ops.N > 0 && over.N > 0 && back > most {
			name, most = s.Lock.Name, back
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" Of the acquisitions of %s, %s are by the worker that has just released it.", name, numfmt.Percent(most))
}

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
	return ofLines(l, handoverAnswer(g), throughputTable(g), g.source(result.Handovers))
}

func handoverAnswer(g *Group) string {
	w := g.Workers[len(g.Workers)-1]
	fs := g.figures(w, result.Handovers)
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, no lock was handed over.", g.unit(w))
	}
	return fmt.Sprintf("With %s, %s.", g.unit(w), extremes(fs, "the most hand-overs", "the fewest", numfmt.PerSecond))
}

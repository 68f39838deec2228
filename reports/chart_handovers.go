package reports

import (
	"fmt"

	"locklab/harness/metric"
)

// HandoversRemote draws hand-overs per second over the number of workers: how
// often a lock serves somebody else than the worker that just had it.
// Acquisitions would flatter a lock whose owner takes it back while the others
// sleep between two polls.
var HandoversRemote = &Chart{
	Name:   "throughput-distributed",
	Title:  "Which distributed lock is handed over most often as workers are added?",
	Doc:    lineDoc + " A hand-over is an acquisition whose predecessor was another worker: one by the owner that takes the lock back does not count. The table has both.",
	Remote: true,
	draw:   drawHandovers,
}

func drawHandovers(g *group) picture {
	l := workersChart(g, metric.Handovers, logScale)
	l.format, l.figure, l.yTitle = si, perSecond, "hand-overs per second, all workers together (log scale)"
	if len(l.lines) == 0 {
		return nothing("No lock went from one worker to another in this run, so there is no hand-over to draw.")
	}
	rate := func(v float64) string { return si(v) + " hand-overs/s" }
	return l.picture(rateAnswer(g, metric.Handovers, contended(g), rate)+retaken(g), throughputTable(g))
}

// contended returns the numbers of workers of g that can hand a lock over, and
// all if there are none.
func contended(g *group) []int {
	if n := len(g.workers); g.workers[0] == 1 && n > 1 {
		return g.workers[1:]
	}
	return g.workers
}

// retaken names the lock that its owner takes back most often, if that is more
// than half of the time.
func retaken(g *group) string {
	w := g.workers[len(g.workers)-1]
	name, most := "", 50.0
	for _, s := range g.at(w) {
		ops, over := s.cells[w].summary(metric.Throughput), s.cells[w].summary(metric.Handovers)
		if back := 100 - 100*over.Median/ops.Median; ops.N > 0 && over.N > 0 && back > most {
			name, most = s.lock.Name, back
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf(" Of the acquisitions of %s, %s are by the worker that has just released it.", name, percent(most))
}

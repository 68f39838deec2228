package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// ThroughputLocal draws acquisitions per second over the number of workers.
var ThroughputLocal = &Chart{
	Name:    "throughput",
	Carries: true,
	Title:   "Which lock keeps its throughput as workers are added?",
	Doc:     lineDoc,
	Draw:    drawThroughput,
}

func drawThroughput(g *Group) Picture {
	l := workersChart(g, result.Throughput, draw.LogScale)
	l.Format, l.Figure, l.YTitle = numfmt.SI, numfmt.PerSecond, "acquisitions per second, all workers together (log scale)"
	if len(l.Lines) == 0 {
		return nothing("No lock was acquired in this run, so there is no throughput to draw.")
	}
	return ofLines(l, throughputAnswer(g), throughputTable(g), g.source(result.Throughput))
}

// throughputAnswer compares the rates with the fewest and the most workers.
func throughputAnswer(g *Group) string {
	first, last := g.Workers[0], g.Workers[len(g.Workers)-1]
	type kept struct {
		name         string
		from, to, by float64
	}
	var ks []kept
	for _, s := range g.Locks {
		a, b := s.Cells[first].Summary(result.Throughput), s.Cells[last].Summary(result.Throughput)
		if s.Lock.Status != harness.Control && b.Median > 0 {
			ks = append(ks, kept{s.Lock.Name, a.Median, b.Median, 100 * b.Median / a.Median})
		}
	}
	if len(ks) == 0 {
		return fmt.Sprintf("No lock was acquired with %s.", g.unit(last))
	}
	slices.SortStableFunc(ks, func(a, b kept) int { return cmp.Compare(b.to, a.to) })
	most := fmt.Sprintf("With %s, %s has the highest median: %s.", g.unit(last), ks[0].name, numfmt.PerSecond(ks[0].to))
	if len(ks) > 1 {
		end := ks[len(ks)-1]
		most = fmt.Sprintf("With %s, %s has the highest median (%s), %s that of %s, the lowest (%s).",
			g.unit(last), ks[0].name, numfmt.PerSecond(ks[0].to), numfmt.Times(ks[0].to/end.to), end.name, numfmt.PerSecond(end.to))
	}
	ks = slices.DeleteFunc(ks, func(k kept) bool { return !(k.from > 0) })
	if first == last || len(ks) < 2 {
		return most
	}
	slices.SortStableFunc(ks, func(a, b kept) int { return cmp.Compare(b.by, a.by) })
	best, worst := ks[0], ks[len(ks)-1]
	return fmt.Sprintf("From %s to %d, %s keeps most of its rate (%s) and %s least (%s). %s",
		g.unit(first), last, best.name, numfmt.Percent(best.by), worst.name, numfmt.Percent(worst.by), most)
}

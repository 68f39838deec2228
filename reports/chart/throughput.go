package chart

import (
	"cmp"
	"fmt"
	"slices"

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

func throughputAnswer(g *Group) string {
	first, last := g.Workers[0], g.Workers[len(g.Workers)-1]
	fs := slices.DeleteFunc(g.figures(last, result.Throughput), func(f figure) bool { return !(f.v > 0) })
	if len(fs) == 0 {
		return fmt.Sprintf("No lock was acquired with %s.", g.unit(last))
	}
	most := fmt.Sprintf("With %s, %s.", g.unit(last), extremes(fs, "the highest median", "the lowest", numfmt.PerSecond))
	var kept []figure // percent of the rate with the fewest workers
	for _, f := range fs {
		if a := g.cell(f.name, first).Summary(result.Throughput).Median; a > 0 {
			kept = append(kept, figure{f.name, 100 * f.v / a})
		}
	}
	if first == last || len(kept) < 2 {
		return most
	}
	slices.SortStableFunc(kept, func(a, b figure) int { return cmp.Compare(b.v, a.v) })
	best, end := kept[0], kept[len(kept)-1]
	return fmt.Sprintf("From %s to %d, %s keeps most of its rate (%s) and %s least (%s). %s",
		g.unit(first), last, best.name, numfmt.Percent(best.v), end.name, numfmt.Percent(end.v), most)
}

func throughputTable(g *Group) Table {
	columns := []*result.Metric{result.Time, result.CPU, result.Switches, result.Allocs,
		result.HandoverTime, result.HandoverTransfers, result.Hold, result.HoldShare, result.WaitShare, result.Overlap}
	if g.Remote {
		columns = []*result.Metric{result.Handovers, result.HandoverTime, result.Hold, result.HoldShare, result.WaitShare, result.Requests, result.Notifications, result.CPU, result.Overlap}
		columns = append(columns, g.inTrips(result.RoundTrip, result.TurnRoundTrips, result.HandoverRoundTrips)...)
	}
	return g.table(nil, withInterval(result.Throughput.Unit, result.Throughput), metrics(columns...))
}

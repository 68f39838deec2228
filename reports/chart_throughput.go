package reports

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// ThroughputLocal draws acquisitions per second over the number of workers.
var ThroughputLocal = &Chart{
	Name:  "throughput",
	Title: "Which lock keeps its throughput as workers are added?",
	Doc:   lineDoc,
	draw:  drawThroughput,
}

const lineDoc = "Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. Hue: family; dash and marker: lock; bold: a lock to use, the others are there to compare."

func drawThroughput(g *group) picture {
	l := workersChart(g, metric.Throughput, logScale)
	l.format, l.figure, l.yTitle = numfmt.SI, numfmt.PerSecond, "acquisitions per second, all workers together (log scale)"
	if len(l.lines) == 0 {
		return nothing("No lock was acquired in this run, so there is no throughput to draw.")
	}
	return l.picture(throughputAnswer(g), throughputTable(g))
}

// throughputAnswer compares the rates with the fewest and the most workers.
func throughputAnswer(g *group) string {
	first, last := g.Workers[0], g.Workers[len(g.Workers)-1]
	type kept struct {
		name         string
		from, to, by float64
	}
	var ks []kept
	for _, s := range g.series {
		a, b := s.Cells[first].Summary(metric.Throughput), s.Cells[last].Summary(metric.Throughput)
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

func throughputTable(g *group) table {
	columns := []*metric.Metric{metric.Time, metric.CPU, metric.Switches, metric.Allocs,
		metric.HandoverTime, metric.HandoverTransfers, metric.Hold, metric.HoldShare, metric.WaitShare, metric.Overlap}
	if g.Remote {
		columns = []*metric.Metric{metric.Handovers, metric.HandoverTime, metric.Requests, metric.Notifications, metric.CPU, metric.Overlap}
		columns = append(columns, g.inTrips(metric.RoundTrip, metric.TurnRoundTrips, metric.HandoverRoundTrips)...)
	}
	t := table{head: []string{"lock", "workers", "rounds", metric.Throughput.Unit, "interval"}}
	for _, m := range columns {
		t.head = append(t.head, m.Name)
	}
	for _, s := range g.series {
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil {
				continue
			}
			v := c.Summary(metric.Throughput)
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds)), numfmt.SI(v.Median), interval(v, numfmt.SI)}
			for _, m := range columns {
				row = append(row, cellText(m, c.Summary(m)))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

// cellText formats the median of v as a figure of m.
func cellText(m *metric.Metric, v stat.Summary) string {
	switch {
	case v.N == 0:
		return unknown
	case v.AtMost:
		v.AtMost = false
		return "≤ " + cellText(m, v)
	}
	return formatOf(m)(v.Median)
}

// formatOf returns how to format a figure of m: with its unit where that is a
// time or a share.
func formatOf(m *metric.Metric) func(v float64) string {
	switch {
	case strings.HasSuffix(m.Unit, "ns/op"):
		return numfmt.Nanos
	case strings.HasSuffix(m.Unit, "%"):
		return numfmt.Percent
	}
	return numfmt.SI
}

// interval formats the bounds of v, and what they are worth if it is less than
// 95 %.
func interval(v stat.Summary, format func(float64) string) string {
	if v.N == 0 {
		return unknown
	}
	text := format(v.Lo) + " to " + format(v.Hi)
	if v.Confidence < 0.95 {
		text += fmt.Sprintf(" (%.0f %%)", 100*v.Confidence)
	}
	return text
}

package chart

import (
	"slices"
	"strconv"

	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

func throughputTable(g *Group) Table {
	columns := []*metric.Metric{metric.Time, metric.CPU, metric.Switches, metric.Allocs,
		metric.HandoverTime, metric.HandoverTransfers, metric.Hold, metric.HoldShare, metric.WaitShare, metric.Overlap}
	if g.Remote {
		columns = []*metric.Metric{metric.Handovers, metric.HandoverTime, metric.Requests, metric.Notifications, metric.CPU, metric.Overlap}
		columns = append(columns, g.inTrips(metric.RoundTrip, metric.TurnRoundTrips, metric.HandoverRoundTrips)...)
	}
	t := Table{Head: slices.Concat(Titles("lock", "workers", "rounds"), byUnit(metric.Throughput), Titles("interval"), ByName(columns...))}
	for _, s := range g.Locks {
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil {
				continue
			}
			v := c.Summary(metric.Throughput)
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds)), numfmt.SI(v.Median), interval(v, numfmt.SI)}
			for _, m := range columns {
				row = append(row, CellText(m, c.Summary(m)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

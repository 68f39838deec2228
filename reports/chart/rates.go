package chart

import (
	"slices"
	"strconv"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

func throughputTable(g *Group) Table {
	columns := []*result.Metric{result.Time, result.CPU, result.Switches, result.Allocs,
		result.HandoverTime, result.HandoverTransfers, result.Hold, result.HoldShare, result.WaitShare, result.Overlap}
	if g.Remote {
		columns = []*result.Metric{result.Handovers, result.HandoverTime, result.Requests, result.Notifications, result.CPU, result.Overlap}
		columns = append(columns, g.inTrips(result.RoundTrip, result.TurnRoundTrips, result.HandoverRoundTrips)...)
	}
	t := Table{Head: slices.Concat(Titles("lock", "workers", "rounds"), byUnit(result.Throughput), Titles("interval"), ByName(columns...))}
	for _, s := range g.Locks {
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil {
				continue
			}
			v := c.Summary(result.Throughput)
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds)), numfmt.SI(v.Median), interval(v, numfmt.SI)}
			for _, m := range columns {
				row = append(row, CellText(m, c.Summary(m)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

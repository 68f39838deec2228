package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// CellText formats the median v of m for a table.
func CellText(m *result.Metric, v stat.Summary) string { return medianText(v, FormatUnit(m.Unit)) }

func medianText(v stat.Summary, format func(v float64) string) string {
	switch {
	case v.N == 0:
		return numfmt.Unknown
	case v.AtMost:
		return "≤ " + format(v.Median)
	}
	return format(v.Median)
}

// FormatUnit returns a formatter for figures in a unit of a metric, with the unit.
func FormatUnit(unit string) func(v float64) string {
	switch {
	case strings.HasSuffix(unit, "ns/op"):
		return numfmt.Nanos
	case strings.HasSuffix(unit, "%"):
		return numfmt.Percent
	case strings.HasSuffix(unit, "/s"):
		return numfmt.PerSecond
	}
	return numfmt.SI
}

func interval(v stat.Summary, format func(float64) string) string {
	if v.N == 0 {
		return numfmt.Unknown
	}
	text := format(v.Lo) + " to " + format(v.Hi)
	if v.Confidence < 0.95 {
		text += fmt.Sprintf(" (%.0f %%)", 100*v.Confidence)
	}
	return text
}

// A column is a column of a table with a row for each lock and number of workers.
type column struct {
	head Piece
	text func(s *series, c *Cell) string
}

func metrics(ms ...*result.Metric) (out []column) {
	for _, m := range ms {
		out = append(out, median(m.Name, m))
	}
	return out
}

func inUnits(ms ...*result.Metric) (out []column) {
	for _, m := range ms {
		out = append(out, median(m.Unit, m))
	}
	return out
}

func median(title string, m *result.Metric) column {
	return column{Piece{title, m}, func(_ *series, c *Cell) string { return CellText(m, c.Summary(m)) }}
}

func withInterval(title string, m *result.Metric) []column {
	return []column{median(title, m), {Piece{Text: "interval"}, func(_ *series, c *Cell) string { return interval(c.Summary(m), FormatUnit(m.Unit)) }}}
}

func (g *Group) table(need *result.Metric, parts ...[]column) Table {
	columns := slices.Concat(parts...)
	t := Table{Head: Titles("lock", "workers", "rounds")}
	for _, col := range columns {
		t.Head = append(t.Head, col.head)
	}
	for _, s := range g.Locks {
		for _, w := range g.Workers {
			c := s.Cells[w]
			if c == nil || need != nil && c.Summary(need).N == 0 {
				continue
			}
			row := []string{s.Lock.Name, strconv.Itoa(w), strconv.Itoa(len(c.Rounds))}
			for _, col := range columns {
				row = append(row, col.text(s, c))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

func (g *Group) known(ms ...*result.Metric) []*result.Metric {
	return slices.DeleteFunc(ms, func(m *result.Metric) bool { return !g.has(m) })
}

func (g *Group) inTrips(ms ...*result.Metric) []*result.Metric {
	if g.has(result.RoundTrip) {
		return ms
	}
	return nil
}

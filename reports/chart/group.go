package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// A Group is a group of results with the data to draw it.
type Group struct {
	*judge.Group
	Both []*Group // all groups of the run: local and distributed locks, closed and open loops
}

type Cell = judge.Cell

func Groups(run *result.Run) (out []*Group) {
	out = result.Each(judge.Groups(run), func(g *judge.Group) *Group { return &Group{Group: g} })
	for _, g := range out {
		g.Both = out
	}
	return out
}

// has reports whether any lock of g has a figure of m.
func (g *Group) has(m *result.Metric) bool {
	for _, s := range g.Series {
		for _, c := range s.Cells {
			if c.Summary(m).N > 0 {
				return true
			}
		}
	}
	return false
}

func (g *Group) cell(lock string, w int) *Cell {
	for _, s := range g.Series {
		if s.Lock.Name == lock {
			return s.Cells[w]
		}
	}
	return nil
}

type figure struct {
	name    string
	v       float64
	rough   bool    // v depends on few samples
	longest float64 // wait, in ns; 0 if v is no wait
}

func (g *Group) figures(w int, m *result.Metric) (out []figure) {
	for _, s := range g.At(w) {
		if v := s.Cells[w].Summary(m); v.N > 0 && s.Lock.Status.Competes() {
			out = append(out, figure{name: s.Lock.Name, v: v.Median})
		}
	}
	sortFigures(out)
	return out
}

func sortFigures(fs []figure) {
	slices.SortStableFunc(fs, func(a, b figure) int { return cmp.Or(cmp.Compare(b.v, a.v), cmp.Compare(b.longest, a.longest)) })
}

func (f figure) of(format func(v float64) string) string {
	return fmt.Sprintf("%s (%s)", f.name, f.text(format))
}

func (f figure) text(format func(v float64) string) string {
	text := format(f.v)
	if f.rough {
		text = "~" + text
	}
	if f.longest > 0 {
		text += ", longest " + numfmt.Nanos(f.longest)
	}
	return text
}

// extremes compares the first and the last of fs, which are not empty: "mcs has the highest
// rate (4 M/s), twice the lowest, tas (2 M/s)".
func extremes(fs []figure, most, least string, format func(v float64) string) string {
	end := fs[len(fs)-1]
	text := fmt.Sprintf("%s has %s (%s)", fs[0].name, most, fs[0].text(format))
	switch {
	case len(fs) == 1:
		return text
	case end.v > 0 && fs[0].v < draw.Alike*end.v:
		return fmt.Sprintf("%s, about the same as %s, %s (%s)", text, end.name, least, end.text(format))
	case end.v > 0:
		return fmt.Sprintf("%s, %s %s, %s", text, numfmt.Times(fs[0].v/end.v), least, end.of(format))
	}
	return fmt.Sprintf("%s, %s has %s (%s)%s", text, end.name, least, end.text(format), end.like(fs))
}

// like names the other figures of fs that are equal to f, or returns "".
func (f figure) like(fs []figure) string {
	fs = slices.DeleteFunc(slices.Clone(fs), func(x figure) bool { return x.v != f.v || x.name == f.name })
	if len(fs) == 0 {
		return ""
	}
	return ", the same as " + numfmt.List(result.Each(fs, func(x figure) string {
		if x.longest > 0 {
			return fmt.Sprintf("%s (longest %s)", x.name, numfmt.Nanos(x.longest))
		}
		return x.name
	}), mostNames)
}

func (g *Group) unit(n int) string { return numfmt.Plural(n, "worker") }

// Anchored returns the group whose section has the charts that are drawn once: the group of
// closed loops with the most cases, else of open loops. It returns nil without one.
func Anchored(gs []*Group, remote bool) *Group {
	for _, g := range gs { // closed loops come first
		if g.Remote == remote {
			return g
		}
	}
	return nil
}

func (g *Group) source(ms ...*result.Metric) Source {
	return Source{Metrics: ms, Rounds: []int{roundsOf(g)}}
}

func roundsOf(gs ...*Group) int {
	seen := make(map[int]bool)
	for _, g := range gs {
		for _, s := range g.Series {
			for _, c := range s.Cells {
				for i := range c.Rounds {
					seen[i] = true
				}
			}
		}
	}
	return len(seen)
}

var Hues = map[harness.Family]draw.Token{
	harness.Spin:      draw.Blue,
	harness.Blocking:  draw.Rust,
	harness.ZooKeeper: draw.Sage,
	harness.Redis:     draw.Plum,
	harness.Peer:      draw.Ink,
}

func hueOf(f harness.Family) draw.Token { return cmp.Or(Hues[f], draw.Ink) }

func byFamily(a, b result.Lock) int {
	return cmp.Or(cmp.Compare(slices.Index(harness.Families, a.Family), slices.Index(harness.Families, b.Family)), cmp.Compare(a.Name, b.Name))
}

func styleOf(lock result.Lock) draw.Style {
	s := draw.Style{Hue: hueOf(lock.Family), Strong: lock.Status.Competes(), Marker: vgdraw.CircleGlyph{}}
	if lock.Status == harness.Control {
		s.Hue, s.Marker = draw.Muted, vgdraw.CrossGlyph{}
	}
	return s
}

func simulated(s draw.Style) draw.Style {
	s.Dash, s.Hollow = []vg.Length{5, 2.5}, true
	return s
}

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
	head Heading
	text func(s *judge.Series, c *Cell) string
}

func metrics(ms ...*result.Metric) []column {
	return result.Each(ms, func(m *result.Metric) column { return median(m.Name, m) })
}

func inUnits(ms ...*result.Metric) []column {
	return result.Each(ms, func(m *result.Metric) column { return median(m.Unit, m) })
}

func median(title string, m *result.Metric) column {
	return column{Heading{title, m}, func(_ *judge.Series, c *Cell) string { return CellText(m, c.Summary(m)) }}
}

func withInterval(title string, m *result.Metric) []column {
	return []column{median(title, m), {Heading{Text: "interval"}, func(_ *judge.Series, c *Cell) string { return interval(c.Summary(m), FormatUnit(m.Unit)) }}}
}

func (g *Group) table(need *result.Metric, parts ...[]column) Table {
	columns := slices.Concat(parts...)
	t := Table{Head: append(Titles("lock", "workers", "rounds"), result.Each(columns, func(col column) Heading { return col.head })...)}
	for _, s := range g.Series {
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

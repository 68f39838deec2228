package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A sheet is a table with a selection of rows and columns to draw.
type sheet struct {
	result.Table
	names []string // of the rows
	drawn []int    // columns
	unit  string   // of all drawn columns
}

func newSheet(t result.Table) sheet {
	s := sheet{Table: t, names: rowNames(t)}
	plot := func(c result.Column) bool { return c.Plot }
	if t.Chart == result.Heat && !slices.ContainsFunc(t.Columns, plot) {
		plot = func(result.Column) bool { return true }
	}
	for i, c := range t.Columns {
		if !plot(c) {
			continue
		}
		if len(s.drawn) == 0 {
			s.unit = c.Unit
		}
		if c.Unit == s.unit { // one axis cannot have two units
			s.drawn = append(s.drawn, i)
		}
	}
	return s
}

// rowNames returns the labels of the rows; words in the cells distinguish equal ones.
func rowNames(t result.Table) []string {
	seen := make(map[string]int)
	for _, r := range t.Rows {
		seen[r.Label]++
	}
	names := make([]string, len(t.Rows))
	for i, r := range t.Rows {
		parts := []string{r.Label}
		for j, c := range r.Cells {
			if seen[r.Label] > 1 && c.Text != "" && j < len(t.Columns) && !t.Columns[j].Plot {
				parts = append(parts, c.Text)
			}
		}
		names[i] = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" }), ", ")
	}
	return names
}

// A reading is a drawable figure: finite, lo <= mid <= hi. The interval may be infinite.
type reading struct {
	mid, lo, hi float64
	n           int // samples
}

func (s sheet) read(i, j int) (reading, bool) {
	if i >= len(s.Rows) || j >= len(s.Rows[i].Cells) {
		return reading{}, false
	}
	c := s.Rows[i].Cells[j]
	if c.N <= 0 || c.Text != "" || !(math.Abs(c.Median) <= draw.Beyond) {
		return reading{}, false
	}
	r := reading{c.Median, c.Lo, c.Hi, c.N}
	if !(r.lo <= r.mid) {
		r.lo = r.mid
	}
	if !(r.hi >= r.mid) {
		r.hi = r.mid
	}
	return r, true
}

func (s sheet) words(i, j int) string {
	if j >= len(s.Rows[i].Cells) {
		return numfmt.Unknown
	}
	return CellFigure(s.Rows[i].Cells[j])
}

func (s sheet) readings(rows int) (out []reading) {
	for i := range min(rows, len(s.Rows)) {
		for _, j := range s.drawn {
			if r, ok := s.read(i, j); ok {
				out = append(out, r)
			}
		}
	}
	return out
}

// span returns the range of rs with their finite intervals; positive omits values that a
// log axis cannot show. ok is false if nothing is left.
func span(rs []reading, positive bool) (lo, hi float64, ok bool) {
	lo, hi = math.Inf(1), math.Inf(-1)
	for _, r := range rs {
		for _, v := range []float64{r.lo, r.mid, r.hi} {
			if math.Abs(v) <= draw.Beyond && (!positive || v > 1/draw.Beyond) {
				lo, hi = min(lo, v), max(hi, v)
			}
		}
	}
	return lo, hi, lo <= hi
}

// limit restricts s to its first most columns, and returns a note if it has more.
func (s *sheet) limit(most int) string {
	n := len(s.drawn)
	if n <= most {
		return ""
	}
	s.drawn = s.drawn[:most]
	return fmt.Sprintf(" The first %d of %d columns are drawn.", most, n)
}

// how explains a mark and its interval.
func (s sheet) how(mark, interval string, rs []reading) string {
	text := mark + ": the figure."
	if m := sampled(rs); m != "" {
		text = mark + ": " + m + "; " + interval + ": from the least to the greatest of them."
	}
	if s.Log && slices.ContainsFunc(rs, func(r reading) bool { return r.mid <= 0 }) {
		text += " A logarithmic scale has no place for 0; the table has it."
	}
	return text
}

// sampled describes a mark, such as "median of 5 samples", or returns "".
func sampled(rs []reading) string {
	if len(rs) == 0 {
		return ""
	}
	by := func(a, b reading) int { return cmp.Compare(a.n, b.n) }
	least, most := slices.MinFunc(rs, by).n, slices.MaxFunc(rs, by).n
	switch {
	case most <= 1:
		return ""
	case least == most:
		return fmt.Sprintf("median of %d samples", most)
	}
	return fmt.Sprintf("median of %d to %d samples", least, most)
}

// CellFigure formats a cell as text for a table.
func CellFigure(c result.Cell) string {
	if c.Text == "" && !(math.Abs(c.Median) <= draw.Beyond) {
		return numfmt.Unknown
	}
	if c.Text == "" && (math.IsNaN(c.Lo) || math.IsNaN(c.Hi) || math.IsInf(c.Lo, 0) || math.IsInf(c.Hi, 0)) {
		c.Lo, c.Hi = c.Median, c.Median
	}
	if c.Text == "" && max(math.Abs(c.Median), math.Abs(c.Lo), math.Abs(c.Hi)) >= 1e15 {
		return Quantity("")(c.Median) // without hundreds of digits
	}
	if s := c.String(); s != "-" {
		return s
	}
	return numfmt.Unknown
}

// Quantity returns a formatter for figures of a unit: "1.34 µs", "412 k per million".
func Quantity(unit string) func(v float64) string {
	write := func(v float64) string { return numfmt.SI(v) + suffix(unit) }
	switch unit {
	case "ns":
		write = numfmt.Nanos
	case "%":
		write = numfmt.Percent
	}
	return func(v float64) string {
		a := math.Abs(v)
		s := ""
		switch {
		case math.IsNaN(v):
			return numfmt.Unknown
		case a == 0:
			s = "0" + suffix(unit)
		case a >= 1e15 || a < 1e-4:
			s = strconv.FormatFloat(a, 'g', 3, 64) + suffix(unit)
		default:
			s = write(a)
		}
		if v < 0 {
			s = "−" + s
		}
		return s
	}
}

// ticked returns a formatter for ticks of a unit, and the unit for the axis title.
func ticked(unit string) (write func(v float64) string, title string) {
	if unit == "ns" || unit == "%" {
		return Quantity(unit), ""
	}
	return Quantity(""), unit
}

func suffix(unit string) string {
	if unit == "" {
		return ""
	}
	return numfmt.Space + strings.ReplaceAll(unit, " ", numfmt.Space)
}

func (s sheet) axisTitle(log bool) string {
	_, unit := ticked(s.unit)
	parts := []string{cmp.Or(unit, map[string]string{"ns": "time", "%": "share"}[s.unit])}
	if len(s.drawn) == 1 {
		parts = []string{s.Columns[s.drawn[0]].Name, unit}
	}
	title := strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), ", ")
	if log {
		title = strings.TrimSpace(title + " (log scale)")
	}
	return title
}

// ColumnStyle returns a distinct style for each column: hues, then dashes, with markers.
func ColumnStyle(i int) draw.Style {
	hue := []draw.Token{draw.Blue, draw.Rust, draw.Sage, draw.Plum, draw.Ink}[i%5]
	return draw.Style{Hue: hue, Dash: draw.Dashes[i/5%len(draw.Dashes)], Marker: draw.Markers[i%len(draw.Markers)], Strong: true}
}

// A Painter draws the tables of one kind. The sentence next to the picture explains how to
// read it. If there is nothing to draw, the picture gives the reason.
type Painter struct {
	Kind result.ChartKind
	draw func(s sheet) (pic Picture, how string)
}

// Painters lists every kind of chart for tables.
var Painters = []Painter{
	{result.Bars, drawBars},
	{result.Lines, drawCurves},
	{result.Heat, drawHeat},
}

// DrawTable draws t, which may come from a newer version and have any shape.
func DrawTable(t result.Table) (pic Picture, how string) {
	for _, p := range Painters {
		if p.Kind == t.Chart {
			return p.draw(newSheet(t))
		}
	}
	return nothing("This version cannot draw a chart of the kind %q; the figures are below.", t.Chart), ""
}

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
	"locklab/internal/stat"
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
	for i, c := range t.Columns {
		if !c.Plot {
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
		names[i] = r.Label
		for j, c := range r.Cells {
			if seen[r.Label] > 1 && c.Text != "" && j < len(t.Columns) && !t.Columns[j].Plot {
				names[i] = strings.TrimPrefix(names[i]+", "+c.Text, ", ")
			}
		}
	}
	return names
}

// read returns a cell with lo <= median <= hi; N is 0 without a finite figure. The interval may
// be infinite.
func (s sheet) read(i, j int) (v stat.Summary) {
	if j >= len(s.Rows[i].Cells) {
		return v
	}
	c := s.Rows[i].Cells[j]
	if c.N <= 0 || c.Text != "" || !(math.Abs(c.Median) <= draw.Beyond) {
		return v
	}
	v = stat.Summary{Median: c.Median, Lo: c.Lo, Hi: c.Hi, N: c.N}
	if !(v.Lo <= v.Median) {
		v.Lo = v.Median
	}
	if !(v.Hi >= v.Median) {
		v.Hi = v.Median
	}
	return v
}

func (s sheet) readings() (out []stat.Summary) {
	for i := range s.Rows {
		for _, j := range s.drawn {
			if v := s.read(i, j); v.N > 0 {
				out = append(out, v)
			}
		}
	}
	return out
}

// limit restricts s to its first columns and rows, and returns a note if it has more.
func (s *sheet) limit(columns, rows int) (note string) {
	if n := len(s.drawn); n > columns {
		s.drawn = s.drawn[:columns]
		note += fmt.Sprintf(" The first %d of %d columns are drawn.", columns, n)
	}
	if n := len(s.Rows); n > rows {
		s.Rows = s.Rows[:rows]
		note += fmt.Sprintf(" The first %d of %d rows are drawn.", rows, n)
	}
	return note
}

// words returns a cell as text.
func words(r result.Row, j int) string {
	if j >= len(r.Cells) {
		return numfmt.Unknown
	}
	c := r.Cells[j]
	switch {
	case c.Text == "-", c.Text == "" && (c.N <= 0 || !(math.Abs(c.Median) <= draw.Beyond)):
		return numfmt.Unknown
	case c.Text == "" && !(max(math.Abs(c.Median), math.Abs(c.Lo), math.Abs(c.Hi)) < 1e15):
		return Quantity("")(c.Median) // without hundreds of digits
	}
	return c.String()
}

// how explains a mark and its interval.
func (s sheet) how(mark, interval string) string {
	rs := s.readings()
	text := mark + ": the figure."
	if m := sampled(rs); m != "" {
		text = mark + ": " + m + "; " + interval + ": from the least to the greatest of them."
	}
	if s.Log && slices.ContainsFunc(rs, func(v stat.Summary) bool { return v.Median <= 0 }) {
		text += " A logarithmic scale has no place for 0; the table has it."
	}
	return text
}

func sampled(rs []stat.Summary) string {
	ns := result.Each(rs, func(v stat.Summary) int { return v.N })
	if len(ns) == 0 || slices.Max(ns) <= 1 {
		return ""
	}
	return "median of " + numfmt.Range(ns, "sample")
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

// A painter draws the tables of one kind, with limits of columns and rows. The sentence next to
// the picture explains how to read it. If there is nothing to draw, it is the reason.
type painter struct {
	columns, rows int
	draw          func(s sheet) (pic draw.Picture, how string)
	guard         guard
}

var painters = map[result.ChartKind]painter{
	result.Bars:  {5, 60, drawBars, few(2, "figure")}, // one column for each hue
	result.Lines: {20, 10_000, drawCurves, flat},
	result.Heat:  {1024, 1024, drawHeat, few(3, "cell")},
}

// DrawTable draws t, which may come from a newer version and have any shape.
func DrawTable(t result.Table) (pic Picture, how string) {
	p, known := painters[t.Chart]
	if !known {
		return nothing("This version cannot draw a chart of the kind %q; the figures are below.", t.Chart), ""
	}
	s := newSheet(t)
	hidden := s.limit(p.columns, p.rows)
	body, how := p.draw(s)
	if pic = (Picture{Picture: body}).guarded(p.guard); body.Height == 0 {
		pic.Empty = how
	}
	if pic.Empty != "" {
		pic.Answer = "There is nothing to draw: " + pic.Empty + "."
		return pic, ""
	}
	return pic, how + hidden
}

func drawBars(s sheet) (draw.Picture, string) {
	if len(s.readings()) == 0 {
		return draw.Picture{}, "no cell of this table holds a figure"
	}
	write, _ := ticked(s.unit)
	r := draw.Rows{Title: s.axisTitle(s.Log)}
	for i, cells := range s.Rows {
		row := draw.Row{Name: s.names[i], Style: draw.Style{Hue: draw.Ink}}
		for k, j := range s.drawn {
			style := ColumnStyle(k)
			m := draw.Mark{Mid: math.NaN(), Shape: style.Marker, Hue: &style.Hue, Text: words(cells, j)}
			if v := s.read(i, j); v.N > 0 {
				m.Mid, m.Lo, m.Hi, m.Text = v.Median, v.Lo, v.Hi, write(v.Median)
				if s.Log && v.Median == 0 && v.Hi > 0 && v.Hi <= draw.Beyond { // the interval has no place either
					m.Text += " to " + write(v.Hi)
				}
			}
			row.Marks = append(row.Marks, m)
		}
		r.Rows = append(r.Rows, row)
	}
	if len(s.drawn) > 1 {
		for k, j := range s.drawn {
			r.Notes = append(r.Notes, draw.Note{Colour: ColumnStyle(k).Hue, Text: Short(s.Columns[j].Name, 24)})
		}
	}
	r.Fit(s.Log, write)
	pic := r.Drawn()
	pic.Shape.Parts = len(s.readings())
	return pic, s.how("Mark", "line")
}

// longRange is the least ratio of X for a logarithmic axis.
const longRange = 8

func drawCurves(s sheet) (draw.Picture, string) {
	write, _ := ticked(s.unit)
	l := &draw.Lines{Place: "at", XTitle: s.Label, Format: write, Figure: write, YTitle: s.axisTitle(s.Log), Y: draw.CountScale}
	if s.Log {
		l.Y = draw.LogScale
	}
	var nowhere []string
	at := make(map[float64]int) // the row of a stop
	for i, r := range s.Rows {
		if a := math.Abs(r.X); !(a > 0 && a <= draw.Beyond) {
			nowhere = append(nowhere, s.names[i])
		} else if _, known := at[r.X]; !known {
			at[r.X] = i
			l.Stops = append(l.Stops, draw.Stop{At: r.X, Label: Short(cmp.Or(r.Label, numfmt.Number(r.X)), 12)})
		}
	}
	slices.SortFunc(l.Stops, func(a, b draw.Stop) int { return cmp.Compare(a.At, b.At) })
	if n := len(l.Stops); n > 1 && l.Stops[0].At > 0 && l.Stops[n-1].At/l.Stops[0].At > longRange {
		l.XScale, l.XTitle = draw.Logarithm, strings.TrimSpace(l.XTitle+" (log scale)")
	}
	for k, j := range s.drawn {
		l.Add(Short(s.Columns[j].Name, MostName), ColumnStyle(k), func(i int) stat.Summary { return s.read(at[l.Stops[i].At], j) })
	}
	if len(l.Lines) == 0 {
		return draw.Picture{}, "no cell of this table has both a figure and a place on the axis"
	}
	text := s.how("Line", "band")
	if len(nowhere) > 0 {
		text += " Only in the table: " + numfmt.List(nowhere, 4) + "."
	}
	return l.Drawn(), text
}

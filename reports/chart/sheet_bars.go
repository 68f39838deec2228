package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/reports/draw"
)

// Limits of one picture of bars; the table has the rest.
const (
	mostBarRows    = 60
	mostBarColumns = 5 // one for each hue

	barSpan = 10 // least ratio of the ends of a logarithmic scale
)

const (
	barWidth     = vg.Length(10)
	barGap       = vg.Length(2.5) // between the bars of a row
	barRowGap    = vg.Length(9)   // between rows
	barNameWidth = vg.Length(190)
	barNameLines = 4
)

// A barChart draws a group of horizontal bars for each row of a table.
type barChart struct {
	sheet
	rows     []barRow
	log      bool
	lo, hi   float64
	legend   [][]barKey // lines of it
	room     vg.Length  // for names
	overhang vg.Length  // for figures behind the bars
}

type barRow struct {
	name   []string // wrapped
	bars   []bar
	height vg.Length
}

// A bar is one figure, or the words in its place.
type bar struct {
	reading
	drawn bool
	text  string
	look  draw.Look
}

// A barKey is an entry of the legend.
type barKey struct {
	at   vg.Length
	name string
	look draw.Look
}

func drawBars(s sheet) (Picture, string) {
	hidden := ""
	if n := len(s.drawn); n > mostBarColumns {
		s.drawn = s.drawn[:mostBarColumns]
		hidden = fmt.Sprintf(" The first %d of %d columns are drawn.", mostBarColumns, n)
	}
	if n := len(s.Rows); n > mostBarRows {
		hidden += fmt.Sprintf(" The first %d of %d rows are drawn.", mostBarRows, n)
	}
	rs := s.readings(mostBarRows)
	if len(rs) == 0 {
		return nothing("There is nothing to draw: no cell of this table holds a figure."), ""
	}
	b := &barChart{sheet: s}
	b.scale(rs)
	b.layOut()
	pic := Picture{Picture: draw.Picture{Height: b.height(), Body: b.body}}
	return pic, b.how(rs) + hidden
}

// how explains a bar.
func (b *barChart) how(rs []reading) string {
	text := "Bar: the figure."
	if m := sampled(rs); m != "" {
		text = "Bar: " + m + "; whisker: from the least to the greatest of them."
	}
	if !b.log {
		return text
	}
	text += " The scale is logarithmic: read where a bar ends, not how long it is."
	for _, r := range rs {
		if r.mid <= 0 {
			return text + " It has no place for 0, which is written out."
		}
	}
	return text
}

func (b *barChart) scale(rs []reading) {
	if lo, hi, ok := span(rs, true); b.Log && ok {
		b.log = true
		_, b.hi = draw.LogRange(lo, hi)
		// The least of similar figures must not look like zero.
		b.lo = draw.RoundDown(min(lo/1.3, b.hi/barSpan))
		return
	}
	lo, hi, _ := span(rs, false)
	b.lo, b.hi = min(lo, 0), max(hi, 0)
	if b.lo == b.hi {
		b.hi = 1
	}
	pad := (b.hi - b.lo) * 0.02
	if b.lo < 0 {
		b.lo -= pad
	}
	b.hi += pad
}

// layOut makes the rows and the legend, and measures them.
func (b *barChart) layOut() {
	name, value := draw.Typeset(sheetSize, draw.Ink, vgdraw.XRight, vgdraw.YCenter), draw.Typeset(sheetSize, draw.Ink, vgdraw.XLeft, vgdraw.YCenter)
	write, _ := ticked(b.unit)
	for i := range min(mostBarRows, len(b.Rows)) {
		row := barRow{name: draw.WrapShort(name, b.names[i], barNameWidth, barNameLines)}
		for k, j := range b.drawn {
			r, ok := b.read(i, j)
			x := bar{reading: r, drawn: ok, text: write(r.mid), look: ColumnLook(k)}
			if !ok {
				x.text = draw.Shorten(value, b.words(i, j), 200)
			}
			row.bars = append(row.bars, x)
			b.overhang = max(b.overhang, value.Width(x.text)+10)
		}
		for _, l := range row.name {
			b.room = max(b.room, name.Width(l)+6)
		}
		n := vg.Length(len(row.bars))
		row.height = max(n*barWidth+(n-1)*barGap, vg.Length(len(row.name))*sheetLine) + barRowGap
		b.rows = append(b.rows, row)
	}
	if len(b.drawn) > 1 {
		b.legend = b.keys(value.Width)
	}
}

func (b *barChart) keys(measure func(string) vg.Length) (lines [][]barKey) {
	var at vg.Length
	st := draw.Typeset(sheetSize, draw.Ink, vgdraw.XLeft, vgdraw.YCenter)
	for k, j := range b.drawn {
		name := draw.Shorten(st, b.Columns[j].Name, draw.Width/2)
		w := measure(name) + 34
		if k == 0 || at+w > draw.Width {
			lines, at = append(lines, nil), 0
		}
		lines[len(lines)-1] = append(lines[len(lines)-1], barKey{at, name, ColumnLook(k)})
		at += w
	}
	return lines
}

const barKeyLine = vg.Length(16)

func (b *barChart) height() vg.Length {
	h := vg.Length(44) // the axis with its title
	for _, r := range b.rows {
		h += r.height
	}
	if n := len(b.legend); n > 0 {
		h += vg.Length(n)*barKeyLine + 6
	}
	return h
}

func (b *barChart) body(c vgdraw.Canvas) error {
	for _, line := range b.legend {
		st := draw.Typeset(sheetSize, draw.Ink, vgdraw.XLeft, vgdraw.YCenter)
		y := c.Max.Y - barKeyLine/2
		for _, k := range line {
			drawBar(k.look, c, c.Min.X+k.at, c.Min.X+k.at+14, y-4, y+4)
			c.FillText(st, vg.Point{X: c.Min.X + k.at + 19, Y: y + draw.Lift}, k.name)
		}
		c.Max.Y -= barKeyLine
	}
	if len(b.legend) > 0 {
		c.Max.Y -= 6
	}
	p := draw.NewPlot(b.lo, b.hi, 0, 1)
	write, _ := ticked(b.unit)
	p.X.Tick.Marker = draw.LinearTicks(b.lo, b.hi, write)
	if b.log {
		p.X.Scale, p.X.Tick.Marker = draw.Warp(draw.Logarithm), draw.LogTicks(b.lo, b.hi, write)
	}
	p.HideY()
	p.Y.Padding = 0
	p.Add(draw.Layer(b.field))
	draw.Place(p, vgdraw.Crop(c, b.room, -b.overhang, 0, 0), b.axisTitle(b.log), "")
	return nil
}

func (b *barChart) field(c vgdraw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if !t.IsMinor() {
			c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, trX(t.Value), c.Min.Y, trX(t.Value), c.Max.Y)
		}
	}
	zero := c.Min.X
	if !b.log {
		zero = trX(0)
	}
	at := func(v float64) vg.Length { // infinite ends lie on the frame
		if b.log && v <= 0 || math.IsInf(v, -1) {
			return c.Min.X
		}
		if math.IsInf(v, 1) {
			return c.Max.X
		}
		return max(c.Min.X, min(trX(v), c.Max.X))
	}
	name := draw.Typeset(sheetSize, draw.Ink, vgdraw.XRight, vgdraw.YCenter)
	var all vg.Length
	for _, r := range b.rows {
		all += r.height
	}
	stretch := (c.Max.Y - c.Min.Y) / all // about 1
	y := c.Max.Y
	for _, r := range b.rows {
		mid := y - r.height*stretch/2
		for i, l := range r.name {
			c.FillText(name, vg.Point{X: c.Min.X - 6, Y: mid + (vg.Length(len(r.name)-1)/2-vg.Length(i))*sheetLine}, l)
		}
		top := mid + (vg.Length(len(r.bars))*(barWidth+barGap)-barGap)/2
		for _, x := range r.bars {
			x.draw(c, top-barWidth/2, zero, at, b.log)
			top -= barWidth + barGap
		}
		y -= r.height * stretch
	}
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.75)}, zero, c.Min.Y, zero, c.Max.Y)
}

// draw draws the bar around the height y, from zero to at its figure.
func (x bar) draw(c vgdraw.Canvas, y, zero vg.Length, at func(float64) vg.Length, log bool) {
	end := zero
	st := draw.Typeset(sheetSize, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	shown := x.drawn && !(log && x.mid <= 0)
	if shown {
		st.Color = draw.Ink.RGBA()
		end = max(end, at(x.mid))
		drawBar(x.look, c, zero, at(x.mid), y-barWidth/2, y+barWidth/2)
	}
	if x.drawn && x.lo < x.hi && at(x.hi) > at(x.lo) {
		end = max(end, at(x.hi))
		x.whisker(c, y, at, log)
	}
	c.FillText(st, vg.Point{X: end + 6, Y: y + draw.Lift}, x.text)
}

// drawBar draws a pale bar with a strong end, because the end is the figure.
func drawBar(l draw.Look, c vgdraw.Canvas, from, to, bottom, top vg.Length) {
	if from != to {
		c.FillPolygon(l.Hue.Alpha(80), draw.Rect(min(from, to), bottom, max(from, to), top))
	}
	c.StrokeLine2(vgdraw.LineStyle{Color: l.Hue.RGBA(), Width: vg.Points(2.4)}, to, bottom, to, top)
}

// whisker draws the interval. An end beyond the scale has no cap.
func (x bar) whisker(c vgdraw.Canvas, y vg.Length, at func(float64) vg.Length, log bool) {
	const half = vg.Length(2.4)
	st := vgdraw.LineStyle{Color: draw.Ink.RGBA(), Width: vg.Points(0.9)}
	lo, hi := at(x.lo), at(x.hi)
	c.StrokeLine2(st, lo, y, hi, y)
	if !math.IsInf(x.lo, -1) && !(log && x.lo <= 0) {
		c.StrokeLine2(st, lo, y-half, lo, y+half)
	}
	if !math.IsInf(x.hi, 1) {
		c.StrokeLine2(st, hi, y-half, hi, y+half)
	}
}

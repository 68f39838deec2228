package chart

import (
	"fmt"
	"math"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/metric"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

const (
	rankStep = vg.Length(14)  // from row to row
	rankHead = vg.Length(34)  // the legend and the names of the columns
	rankNote = vg.Length(10)  // a line of a note
	rankSize = 7.5            // of notes and legends
	rankName = draw.Width / 3 // the widest name

	// rankWider is the greatest factor by which text in a reader's font may be wider than
	// drawn.
	rankWider = 1.15
)

func (r *ranking) noteLines() (out []string) {
	for _, n := range r.notes {
		out = append(out, draw.WrapShort(draw.Typeset(rankSize, draw.Muted, 0, 0), n, draw.Width, 3)...)
	}
	return out
}

func (r *ranking) height() vg.Length {
	return rankHead + vg.Length(len(r.rows))*rankStep + draw.RowsFoot + vg.Length(len(r.noteLines()))*rankNote + 6
}

// A rankColumn is a column of figures right of the dots.
type rankColumn struct {
	head string
	of   func(x *ranked) string
	wide vg.Length // with room for a wider font at its right
	room vg.Length
}

// columns returns the columns right of the dots with their widths.
func (r *ranking) columns() []rankColumn {
	head := map[bool]string{false: "rate", true: "hand-overs"}[r.Metric() == metric.Handovers]
	out := []rankColumn{
		{head: head, of: func(x *ranked) string { return numfmt.PerSecond(x.rate.Median) }},
		{head: "p99 wait", of: r.wait},
		{head: "Jain", of: func(x *ranked) string { return CellText(metric.Jain, x.jain) }},
	}
	if r.g.Remote {
		out = append(out, rankColumn{head: "requests", of: func(x *ranked) string { return CellText(metric.Requests, x.requests) }})
	}
	st := draw.Bold(draw.Typeset(8.5, draw.Ink, 0, 0))
	for i := range out {
		out[i].wide = st.Width(out[i].head)
		for _, x := range r.rows {
			out[i].wide = max(out[i].wide, st.Width(out[i].of(x)))
		}
		out[i].room = (rankWider - 1) * out[i].wide
		out[i].wide += out[i].room + 12
	}
	return out
}

// draw draws r into c: tags, names, dots and figures, with the scale and notes below.
func (r *ranking) draw(c vgdraw.Canvas) {
	small := draw.Typeset(rankSize, draw.Muted, vgdraw.XLeft, vgdraw.YTop)
	y := c.Min.Y + vg.Length(len(r.noteLines()))*rankNote
	for _, l := range r.noteLines() {
		c.FillText(small, vg.Point{X: c.Min.X, Y: y}, l)
		y -= rankNote
	}
	var tags, names vg.Length
	for _, x := range r.rows {
		names = max(names, min(rankWider*x.s.look.RowName().Width(x.s.Lock.Name), rankName))
		if x.tag != "" {
			tags = max(tags, rankWider*rankTag(x).Width(x.tag)+16)
		}
	}
	left := tags + names + 12
	columns := r.columns()
	right := vg.Length(8)
	for _, k := range columns {
		right += k.wide
	}
	b := c
	b.Min.X, b.Max.X = c.Min.X+left, c.Max.X-right
	b.Max.Y = c.Max.Y - rankHead
	b.Min.Y = b.Max.Y - vg.Length(len(r.rows))*rankStep
	at := r.scale(b)
	r.band(c, b, at)
	for i, x := range r.rows {
		y := b.Max.Y - (vg.Length(i)+0.5)*rankStep
		r.names(c, x, b.Min.X, y)
		r.dot(b, x, at, y)
		figures(c, x, columns, b.Max.X+8, y)
	}
	st := draw.Typeset(8, draw.Muted, vgdraw.XRight, vgdraw.YBottom)
	for x := b.Max.X + 8; len(columns) > 0; columns = columns[1:] {
		x += columns[0].wide
		c.FillText(st, vg.Point{X: x - columns[0].room, Y: b.Max.Y + 4}, columns[0].head)
	}
}

func rankTag(x *ranked) text.Style {
	st := draw.Typeset(8, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	if x.mark == ChosenMark {
		st = draw.Bold(draw.Typeset(8, draw.Ink, vgdraw.XLeft, vgdraw.YCenter))
	}
	return st
}

// names writes the tag and the name of x left of the dots.
func (r *ranking) names(c vgdraw.Canvas, x *ranked, right, y vg.Length) {
	if x.mark != PlainMark {
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: x.s.look.Hue.RGBA(), Radius: rankRadius(x.mark), Shape: RankShape(x.mark)}, vg.Point{X: c.Min.X + 5, Y: y})
	}
	c.FillText(rankTag(x), vg.Point{X: c.Min.X + 12, Y: y + draw.Lift}, x.tag)
	c.FillText(x.s.look.RowName(), vg.Point{X: right - 8, Y: y + draw.Lift}, draw.Shorten(x.s.look.RowName(), x.s.Lock.Name, rankName))
}

// figures writes the figures of x right of left.
func figures(c vgdraw.Canvas, x *ranked, columns []rankColumn, left, y vg.Length) {
	for i, k := range columns {
		st := draw.Typeset(8.5, draw.Muted, vgdraw.XRight, vgdraw.YCenter)
		if i == 0 {
			st = draw.Typeset(8.5, draw.Ink, vgdraw.XRight, vgdraw.YCenter)
		}
		if x.mark == ChosenMark {
			st = draw.Bold(draw.Typeset(8.5, draw.Ink, vgdraw.XRight, vgdraw.YCenter))
		}
		left += k.wide
		c.FillText(st, vg.Point{X: left - k.room, Y: y + draw.Lift}, k.of(x))
	}
}

// scale draws the axis under b and returns a function from rates to positions.
func (r *ranking) scale(b vgdraw.Canvas) func(v float64) vg.Length {
	title := r.unit() + " per second, all workers together"
	lo, hi := r.least, r.most
	for _, x := range r.rows { // an interval far wider than the medians ends at the frame
		if x.rate.Hi < 2*r.most {
			hi = max(hi, x.rate.Hi)
		}
		if x.rate.Lo > r.least/4 {
			lo = min(lo, x.rate.Lo)
		}
	}
	if r.log() {
		lo, hi = draw.LogRange(lo, hi)
		return draw.RowsScale(b, lo, hi, numfmt.SI, title+" (log scale: they differ more than tenfold)")
	}
	hi = min(max(1.04*hi, 1e-300), 1e300)
	if r.most == 0 {
		hi = 1
	}
	p := draw.NewPlot(0, hi, 0, 1)
	return draw.RowsAxis(b, p, draw.LinearTicks(0, hi, numfmt.SI), title)
}

// band shades the rates within the tolerance of the leader's median.
func (r *ranking) band(c, b vgdraw.Canvas, at func(float64) vg.Length) {
	st := draw.Typeset(rankSize, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
	y, x := c.Max.Y-6, c.Min.X
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(1.4)}, x, y, x+18, y)
	c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Muted.RGBA(), Radius: 2.6, Shape: vgdraw.CircleGlyph{}}, vg.Point{X: x + 9, Y: y})
	text := "median and its interval"
	c.FillText(st, vg.Point{X: x + 24, Y: y + draw.Lift}, text)
	if r.leader == nil || !(r.leader.rate.Median > 0) {
		return
	}
	x += 24 + st.Width(text) + 18
	margin := r.g.Run.Manifest.PracticalMargin()
	edge := vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.7), Dashes: []vg.Length{2, 2}}
	field := func(x0, y0, x1, y1 vg.Length) {
		c.FillPolygon(draw.Shade.RGBA(), draw.Rect(x0, y0, x1, y1))
		c.StrokeLine2(edge, x0, y0, x0, y1)
		c.StrokeLine2(edge, x1, y0, x1, y1)
	}
	field(x, y-5, x+18, y+5)
	c.FillText(st, vg.Point{X: x + 24, Y: y + draw.Lift}, fmt.Sprintf("within %s of %s, the leader", numfmt.Percent(100*margin), draw.Shorten(st, r.leader.s.Lock.Name, draw.RowsName)))
	m := r.leader.rate.Median
	field(at(m/(1+margin)), b.Min.Y, at(m*(1+margin)), b.Max.Y)
}

// dot draws the interval and the median of x in the row at y. An interval that extends
// beyond the frame ends in a point there.
func (r *ranking) dot(b vgdraw.Canvas, x *ranked, at func(float64) vg.Length, y vg.Length) {
	pt := vg.Point{X: at(x.rate.Median), Y: y}
	lo, hi := at(x.rate.Lo), at(x.rate.Hi)
	b.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.5), Dashes: []vg.Length{0.8, 2.4}}, b.Min.X, y, lo, y)
	hue := x.s.look.Hue
	line := vgdraw.LineStyle{Color: hue.RGBA(), Width: vg.Points(1.2)}
	b.StrokeLine2(line, lo, y, hi, y)
	if r.log() && lo <= b.Min.X {
		b.StrokeLines(line, []vg.Point{{X: lo + 4, Y: y - 2.5}, {X: lo, Y: y}, {X: lo + 4, Y: y + 2.5}})
	}
	if hi >= b.Max.X {
		b.StrokeLines(line, []vg.Point{{X: hi - 4, Y: y - 2.5}, {X: hi, Y: y}, {X: hi - 4, Y: y + 2.5}})
	}
	if r.log() && x.rate.Median == 0 {
		return // off the scale
	}
	b.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Paper.RGBA(), Radius: rankRadius(x.mark) + 1.1, Shape: vgdraw.CircleGlyph{}}, pt)
	b.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: hue.RGBA(), Radius: rankRadius(x.mark), Shape: RankShape(x.mark)}, pt)
}

func RankShape(m RankMark) vgdraw.GlyphDrawer {
	return []vgdraw.GlyphDrawer{PlainMark: vgdraw.CircleGlyph{}, peerMark: vgdraw.PyramidGlyph{}, standardMark: vgdraw.BoxGlyph{}, ChosenMark: starGlyph{}}[m]
}

func rankRadius(m RankMark) vg.Length {
	return []vg.Length{PlainMark: 2.6, peerMark: 3.4, standardMark: 3, ChosenMark: 5}[m]
}

type starGlyph struct{}

func (starGlyph) DrawGlyph(c *vgdraw.Canvas, st vgdraw.GlyphStyle, pt vg.Point) {
	var path vg.Path
	for i := range 10 {
		radius := st.Radius
		if i%2 == 1 {
			radius *= 0.45
		}
		sin, cos := math.Sincos(float64(i) * math.Pi / 5)
		to := pt.Add(vg.Point{X: radius * vg.Length(sin), Y: radius * vg.Length(cos)})
		if i == 0 {
			path.Move(to)
		} else {
			path.Line(to)
		}
	}
	path.Close()
	c.SetColor(st.Color)
	c.Fill(path)
}

package reports

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
)

// A computedChart draws measured and computed figures over the same logarithmic axes.
// Computed figures are hollow and dashed, with their range, and labelled as computed.
type computedChart struct {
	lines  []computedLine
	most   float64 // the greatest measured x
	xTitle string
	yTitle string
	format func(v float64) string
}

type computedLine struct {
	name               string
	hue                token
	strong             bool
	measured, computed []computedPoint // ascending by x
}

type computedPoint struct{ x, y, lo, hi float64 }

// The glyphs of lines: filled for measured figures, hollow for computed ones.
var (
	filled = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	hollow = []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
)

// computedDash is the dash of computed lines.
var computedDash = []vg.Length{4, 2.5}

const computedHeight = vg.Length(300)

// end returns the last point of l, and whether it is computed.
func (l computedLine) end() (p computedPoint, computed bool) {
	if m, c := len(l.measured), len(l.computed); c == 0 || m > 0 && l.measured[m-1].x >= l.computed[c-1].x {
		return l.measured[m-1], false
	}
	return l.computed[len(l.computed)-1], true
}

// look returns the style of the measured or the computed part.
func (l computedLine) look(i int, computed bool) look {
	k := look{hue: l.hue, strong: l.strong, marker: filled[i%len(filled)]}
	if computed {
		k.marker, k.dash = hollow[i%len(hollow)], computedDash
	}
	return k
}

// drawable returns the points that fit on a log scale.
func drawable(ps []computedPoint) (out []computedPoint) {
	for _, p := range ps {
		if p.x > 0 && p.y > 0 && p.x < beyond && p.y < beyond {
			if !(p.lo > 0 && p.lo <= p.y) {
				p.lo = p.y
			}
			if !(p.hi >= p.y && p.hi < beyond) {
				p.hi = p.y
			}
			out = append(out, p)
		}
	}
	return out
}

// drawn returns the chart as a drawing; its height is 0 if there is nothing to draw.
func (d *computedChart) drawn() (pic sketch) {
	var kept []computedLine
	for _, l := range d.lines {
		l.measured, l.computed = drawable(l.measured), drawable(l.computed)
		if len(l.measured)+len(l.computed) > 0 {
			kept = append(kept, l)
		}
	}
	if d.lines = kept; len(kept) > 0 {
		pic.height, pic.body = max(computedHeight, vg.Length(len(kept))*labelGap+60), d.body
	}
	return pic
}

func (d *computedChart) axes() *plot.Plot {
	xLo, xHi, yLo, yHi := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range d.lines {
		for _, ps := range [][]computedPoint{l.measured, l.computed} {
			for _, p := range ps {
				xLo, xHi, yLo, yHi = min(xLo, p.x), max(xHi, p.x), min(yLo, p.lo), max(yHi, p.hi)
			}
		}
	}
	xLo, xHi = logRange(xLo, xHi)
	yLo, yHi = logRange(yLo, yHi)
	p := newPlot(xLo, xHi, yLo, yHi)
	p.X.Scale, p.X.Tick.Marker = warp(logarithm), logTicks(xLo, xHi, numfmt.SI)
	p.Y.Scale, p.Y.Tick.Marker = warp(logarithm), logTicks(yLo, yHi, d.format)
	return p
}

func (d *computedChart) body(c draw.Canvas) error {
	p := d.axes()
	labels := make([]endLabel, len(d.lines))
	for i, l := range d.lines {
		end, computed := l.end()
		text := l.name + labelSep + d.format(end.y)
		if computed {
			text += ", computed"
		}
		labels[i] = endLabel{text: text, look: l.look(i, computed)}
	}
	p.Add(drawing(d.zone), gridlines(true), drawing(func(c draw.Canvas, p *plot.Plot) {
		d.draw(c, p, labels)
		drawLabels(c, c.Max.X, labels)
	}))
	place(p, draw.Crop(c, 0, -labelRoom(labels), 0, 0), d.xTitle, d.yTitle)
	return nil
}

// zone shades and labels the range without measurements.
func (d *computedChart) zone(c draw.Canvas, p *plot.Plot) {
	if !(d.most > 0) || d.most >= p.X.Max {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(d.most), c.Min.X)
	c.FillPolygon(warm.rgba(), rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	c.StrokeLine2(draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	st := typeset(7.5, muted, draw.XRight, draw.YBottom)
	for _, text := range []string{"computed, not measured", "computed"} {
		if st.Width(text)+6 < c.Max.X-x {
			c.FillText(st, vg.Point{X: c.Max.X, Y: c.Max.Y + 6}, text)
			return
		}
	}
}

// draw draws ranges first, lines next and markers last, and sets the height of each label.
func (d *computedChart) draw(c draw.Canvas, p *plot.Plot, labels []endLabel) {
	trX, trY := p.Transforms(&c)
	at := func(x, y float64) vg.Point { return vg.Point{X: trX(x), Y: max(c.Min.Y, min(trY(y), c.Max.Y))} }
	trace := func(ps []computedPoint) (pts []vg.Point) {
		for _, p := range ps {
			pts = append(pts, at(p.x, p.y))
		}
		return pts
	}
	for _, l := range d.lines {
		for _, ps := range [][]computedPoint{l.measured, l.computed} {
			for _, p := range ps {
				c.StrokeLines(draw.LineStyle{Color: l.hue.alpha(110), Width: vg.Points(2.4)}, []vg.Point{at(p.x, p.lo), at(p.x, p.hi)})
			}
		}
	}
	for i, l := range d.lines {
		c.StrokeLines(l.look(i, false).line(), trace(l.measured))
		c.StrokeLines(l.look(i, true).line(), trace(l.computed))
	}
	for i, l := range d.lines {
		end, _ := l.end()
		labels[i].y = at(end.x, end.y).Y
		for _, computed := range []bool{false, true} {
			ps := l.measured
			if computed {
				ps = l.computed
			}
			for _, pt := range trace(ps) {
				l.look(i, computed).mark(c, pt)
			}
		}
	}
}

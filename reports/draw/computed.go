package draw

import (
	"math"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
)

// A Computed draws measured and computed figures over the same logarithmic axes.
// Computed figures are hollow and dashed, with their range, and labelled as computed.
type Computed struct {
	Lines  []ComputedLine
	Most   float64 // the greatest measured x
	XTitle string
	YTitle string
	Format func(v float64) string
}

type ComputedLine struct {
	Name               string
	Hue                Token
	Strong             bool
	Measured, Computed []ComputedPoint // ascending by x
}

type ComputedPoint struct{ X, Y, Lo, Hi float64 }

// The glyphs of lines: filled for measured figures, hollow for computed ones.
var (
	Filled = []draw.GlyphDrawer{draw.CircleGlyph{}, draw.BoxGlyph{}, draw.PyramidGlyph{}}
	hollow = []draw.GlyphDrawer{draw.RingGlyph{}, draw.SquareGlyph{}, draw.TriangleGlyph{}}
)

// computedDash is the dash of computed lines.
var computedDash = []vg.Length{4, 2.5}

const computedHeight = vg.Length(300)

// end returns the last point of l, and whether it is computed.
func (l ComputedLine) end() (p ComputedPoint, computed bool) {
	if m, c := len(l.Measured), len(l.Computed); c == 0 || m > 0 && l.Measured[m-1].X >= l.Computed[c-1].X {
		return l.Measured[m-1], false
	}
	return l.Computed[len(l.Computed)-1], true
}

// Look returns the style of the measured or the computed part.
func (l ComputedLine) Look(i int, computed bool) Look {
	k := Look{Hue: l.Hue, Strong: l.Strong, Marker: Filled[i%len(Filled)]}
	if computed {
		k.Marker, k.Dash = hollow[i%len(hollow)], computedDash
	}
	return k
}

// drawable returns the points that fit on a log scale.
func drawable(ps []ComputedPoint) (out []ComputedPoint) {
	for _, p := range ps {
		if p.X > 0 && p.Y > 0 && p.X < Beyond && p.Y < Beyond {
			if !(p.Lo > 0 && p.Lo <= p.Y) {
				p.Lo = p.Y
			}
			if !(p.Hi >= p.Y && p.Hi < Beyond) {
				p.Hi = p.Y
			}
			out = append(out, p)
		}
	}
	return out
}

// Drawn returns the chart as a drawing; its height is 0 if there is nothing to draw.
func (d *Computed) Drawn() (pic Picture) {
	var kept []ComputedLine
	for _, l := range d.Lines {
		l.Measured, l.Computed = drawable(l.Measured), drawable(l.Computed)
		if len(l.Measured)+len(l.Computed) > 0 {
			kept = append(kept, l)
		}
	}
	if d.Lines = kept; len(kept) > 0 {
		pic.Height, pic.Body = max(computedHeight, vg.Length(len(kept))*LabelGap+60), d.body
	}
	return pic
}

func (d *Computed) axes() *plot.Plot {
	xLo, xHi, yLo, yHi := math.Inf(1), 0.0, math.Inf(1), 0.0
	for _, l := range d.Lines {
		for _, ps := range [][]ComputedPoint{l.Measured, l.Computed} {
			for _, p := range ps {
				xLo, xHi, yLo, yHi = min(xLo, p.X), max(xHi, p.X), min(yLo, p.Lo), max(yHi, p.Hi)
			}
		}
	}
	xLo, xHi = LogRange(xLo, xHi)
	yLo, yHi = LogRange(yLo, yHi)
	p := NewPlot(xLo, xHi, yLo, yHi)
	p.X.Scale, p.X.Tick.Marker = Warp(Logarithm), LogTicks(xLo, xHi, numfmt.SI)
	p.Y.Scale, p.Y.Tick.Marker = Warp(Logarithm), LogTicks(yLo, yHi, d.Format)
	return p
}

func (d *Computed) body(c draw.Canvas) error {
	p := d.axes()
	labels := make([]EndLabel, len(d.Lines))
	for i, l := range d.Lines {
		end, computed := l.end()
		text := l.Name + LabelSep + d.Format(end.Y)
		if computed {
			text += ", computed"
		}
		labels[i] = EndLabel{Text: text, Look: l.Look(i, computed)}
	}
	p.Add(Layer(d.zone), Gridlines(true), Layer(func(c draw.Canvas, p *plot.Plot) {
		d.draw(c, p, labels)
		DrawLabels(c, c.Max.X, labels)
	}))
	Place(p, draw.Crop(c, 0, -LabelRoom(labels), 0, 0), d.XTitle, d.YTitle)
	return nil
}

// zone shades and labels the range without measurements.
func (d *Computed) zone(c draw.Canvas, p *plot.Plot) {
	if !(d.Most > 0) || d.Most >= p.X.Max {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(d.Most), c.Min.X)
	c.FillPolygon(Warm.RGBA(), Rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	c.StrokeLine2(draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	st := Typeset(7.5, Muted, draw.XRight, draw.YBottom)
	for _, text := range []string{"computed, not measured", "computed"} {
		if st.Width(text)+6 < c.Max.X-x {
			c.FillText(st, vg.Point{X: c.Max.X, Y: c.Max.Y + 6}, text)
			return
		}
	}
}

// draw draws ranges first, lines next and markers last, and sets the height of each label.
func (d *Computed) draw(c draw.Canvas, p *plot.Plot, labels []EndLabel) {
	trX, trY := p.Transforms(&c)
	at := func(x, y float64) vg.Point { return vg.Point{X: trX(x), Y: max(c.Min.Y, min(trY(y), c.Max.Y))} }
	trace := func(ps []ComputedPoint) (pts []vg.Point) {
		for _, p := range ps {
			pts = append(pts, at(p.X, p.Y))
		}
		return pts
	}
	for _, l := range d.Lines {
		for _, ps := range [][]ComputedPoint{l.Measured, l.Computed} {
			for _, p := range ps {
				c.StrokeLines(draw.LineStyle{Color: l.Hue.Alpha(110), Width: vg.Points(2.4)}, []vg.Point{at(p.X, p.Lo), at(p.X, p.Hi)})
			}
		}
	}
	for i, l := range d.Lines {
		c.StrokeLines(l.Look(i, false).Line(), trace(l.Measured))
		c.StrokeLines(l.Look(i, true).Line(), trace(l.Computed))
	}
	for i, l := range d.Lines {
		end, _ := l.end()
		labels[i].Y = at(end.X, end.Y).Y
		for _, computed := range []bool{false, true} {
			ps := l.Measured
			if computed {
				ps = l.Computed
			}
			for _, pt := range trace(ps) {
				l.Look(i, computed).Mark(c, pt)
			}
		}
	}
}

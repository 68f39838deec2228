package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/internal/stat"
)

// A Lines draws a figure over an axis, one line per lock, in one frame or, if many, several.
// It has one field for each option of a drawing.
type Lines struct {
	Stops    []Stop // ascending positions on the x axis
	XTitle   string
	XScale   Warp    // nil is linear
	Place    string  // between a figure and the stop it is from: "with", "at"
	Zone     float64 // greater positions are shaded; 0 disables it
	ZoneText string  // its meaning

	Y      Scale
	YTitle string
	Format func(v float64) string    // of the y axis
	Figure func(v float64) string    // of the value at the line's end
	End    func(frame string) string // the text at the line's end instead; may be nil

	Under func(c draw.Canvas, p *plot.Plot, frame string) // draws in a frame before the lines; may be nil
	Lines []line

	Notes []Note // meaning of shades and marks
	Plain bool   // no frame shows the lines of the others
}

// A Scale is the scale of a y axis.
type Scale int

const (
	ShareScale Scale = iota // 0 to 100 percent
	LogScale
	CountScale // from 0 to the greatest
)

// A line is one lock's medians, ascending by stop. It omits those outside the scale.
type line struct {
	frame  string // name of the frame, which lines may share
	Style  Style
	Points []linePoint
	last   linePoint // at the last stop with a figure, drawn or not
}

type linePoint struct {
	Stop int // index in Lines.stops
	stat.Summary
}

// Add adds a line to a frame, which lines may share; at(i) is its figure at stop i.
func (l *Lines) Add(frame string, as Style, at func(i int) stat.Summary) {
	ln := line{frame: frame, Style: as}
	for i := range l.Stops {
		v := at(i)
		if v.N == 0 {
			continue
		}
		ln.last = linePoint{i, v}
		if !math.IsNaN(v.Median) && !math.IsInf(v.Median, 0) && (l.Y != LogScale || v.Median > 0) {
			ln.Points = append(ln.Points, ln.last)
		}
	}
	if len(ln.Points) > 0 {
		l.Lines = append(l.Lines, ln)
	}
}

func (l *Lines) end(ln line) string {
	switch {
	case l.Plain:
		return ""
	case l.End != nil:
		return l.End(ln.frame)
	}
	text := l.Figure(ln.last.Median)
	if ln.last.Stop < len(l.Stops)-1 {
		text += " " + l.Place + " " + l.Stops[ln.last.Stop].Label
	}
	return text
}

func (l *Lines) yRange() (lo, hi float64) {
	if l.Y == ShareScale {
		return 0, 100
	}
	lo, hi = math.Inf(1), 0
	for _, ln := range l.Lines {
		for _, p := range ln.Points {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
			if p.Lo > 0 {
				lo = min(lo, p.Lo)
			}
			if !math.IsInf(p.Hi, 0) && !math.IsNaN(p.Hi) {
				hi = max(hi, p.Hi)
			}
		}
	}
	if l.Y == CountScale {
		if hi *= 1.06; !(hi > 0) || hi > 1e300 {
			hi = 1
		}
		return 0, hi
	}
	return LogRange(lo, hi)
}

// Spread returns the ratio of the greatest to the least median, or 0 without lines.
func (l *Lines) Spread() float64 {
	lo, hi := math.Inf(1), 0.0
	for _, ln := range l.Lines {
		for _, p := range ln.Points {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
		}
	}
	return hi / lo
}

func (l *Lines) axes() *plot.Plot {
	used := make([]bool, len(l.Stops)) // by a figure
	for _, ln := range l.Lines {
		for _, p := range ln.Points {
			used[p.Stop] = true
		}
	}
	var stops, labelled []Stop
	for i, s := range l.Stops {
		if used[i] || s.Label == "" {
			stops = append(stops, s)
		}
		if used[i] && s.Label != "" {
			labelled = append(labelled, s)
		}
	}
	xLo, xHi := stops[0].At, stops[len(stops)-1].At
	switch {
	case xLo < xHi:
	case l.XScale == nil:
		room := max(1, math.Abs(xLo)/2) // more than the rounding of a great figure
		xLo, xHi = xLo-room, xHi+room
	default:
		xLo, xHi = xLo/2, xHi*2
	}
	yLo, yHi := l.yRange()
	p := newPlot(xLo, xHi, yLo, yHi)
	if l.XScale != nil {
		p.X.Scale = l.XScale
	}
	p.X.Tick.Marker = StopTicks(labelled, l.XScale)
	switch l.Y {
	case ShareScale:
		p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: 25, Label: "25 %"}, {Value: 50, Label: "50 %"}, {Value: 75, Label: "75 %"}, {Value: 100, Label: "100 %"}}
	case LogScale:
		p.Y.Scale, p.Y.Tick.Marker = Warp(Logarithm), LogTicks(yLo, yHi, l.Format)
	case CountScale:
		p.Y.Tick.Marker = LinearTicks(yLo, yHi, l.Format)
	}
	return p
}

// over draws the bands, strokes and marks of lines, correct locks on top.
func (l *Lines) over(c draw.Canvas, p *plot.Plot, lines []line) {
	for _, ln := range lines {
		l.band(ln, c, p)
	}
	for _, ln := range lines {
		if !ln.Style.Loose {
			c.StrokeLines(ln.Style.Line(), l.trace(ln, c, p))
		}
	}
	for _, strong := range []bool{false, true} {
		for _, ln := range lines {
			for _, pt := range ln.Points {
				if ln.Style.Strong == strong && l.Stops[pt.Stop].Label != "" {
					ln.Style.Mark(c, l.At(c, p, pt.Stop, pt.Median))
				}
			}
		}
	}
}

func (l *Lines) band(ln line, c draw.Canvas, p *plot.Plot) {
	var upper, lower []vg.Point
	for _, pt := range ln.Points {
		lo, hi := l.At(c, p, pt.Stop, pt.Lo), l.At(c, p, pt.Stop, pt.Hi)
		if ln.Style.Loose {
			c.StrokeLine2(draw.LineStyle{Color: ln.Style.Hue.RGBA(), Width: vg.Points(1.4)}, lo.X, lo.Y, hi.X, hi.Y)
		}
		lower, upper = append(lower, lo), append(upper, hi)
	}
	if ln.Style.Loose || slices.Equal(lower, upper) {
		return
	}
	opacity := uint8(22)
	if ln.Style.Strong {
		opacity = 44
	}
	slices.Reverse(lower)
	c.FillPolygon(ln.Style.Hue.Alpha(opacity), append(upper, lower...))
}

func (l *Lines) zoned(p *plot.Plot) bool { return l.Zone >= 1 && l.Zone < p.X.Max }

func (l *Lines) shade(c draw.Canvas, p *plot.Plot) {
	if !l.zoned(p) {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(l.Zone), c.Min.X)
	c.FillPolygon(Warm.RGBA(), Rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	if l.Zone >= p.X.Min {
		c.StrokeLine2(draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	}
}

// At returns the position of v at stop i.
func (l *Lines) At(c draw.Canvas, p *plot.Plot, i int, v float64) vg.Point {
	trX, trY := p.Transforms(&c)
	pt := vg.Point{X: trX(l.Stops[i].At), Y: c.Min.Y}
	if !math.IsNaN(v) {
		pt.Y = max(c.Min.Y, min(trY(v), c.Max.Y))
	}
	return pt
}

func (l *Lines) trace(ln line, c draw.Canvas, p *plot.Plot) (pts []vg.Point) {
	for _, pt := range ln.Points {
		pts = append(pts, l.At(c, p, pt.Stop, pt.Median))
	}
	return Thin(pts, 0.05)
}

package reports

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness/stat"
)

// A lineChart draws a figure over an axis of the workload, one line per lock. All lines
// share one frame, or each has its own if they are many.
type lineChart struct {
	stops  []stop // ascending positions on the x axis
	xTitle string
	xScale warp   // nil is linear
	place  string // between a figure and the stop it is from: "with", "at"
	cpus   int    // more workers are shaded; 0 disables the shading

	y      scale
	least  float64 // upper bound for the start of a logarithmic y axis; 0 sets none
	yTitle string
	format func(v float64) string // of the y axis
	figure func(v float64) string // of the value at the line's end

	under drawing // drawn before the lines; may be nil
	// own is drawn before the line of that name, in its frame if it has one. For "" it draws
	// the common part of all lines. It may be nil.
	own   func(name string) drawing
	lines []line

	also  []float64 // further figures that the y axis must reach
	notes []note    // meaning of shades and marks
	apart bool      // each line has its own frame, even if they are few

	// caption, if not nil, replaces the figure next to a name; "" keeps the figure.
	caption func(name string) string
}

// A scale is the scale of a y axis.
type scale int

const (
	shareScale scale = iota // 0 to 100 percent
	logScale
	countScale // from 0 to the greatest
)

// A line is one lock's medians, ascending by stop. It omits those outside the scale.
type line struct {
	name   string
	look   look
	points []linePoint
	last   linePoint // at the last stop with a figure, drawn or not
}

type linePoint struct {
	stop int // index in lineChart.stops
	stat.Summary
}

// add adds a line; at(i) is its figure at stop i.
func (l *lineChart) add(name string, as look, at func(i int) stat.Summary) {
	ln := line{name: name, look: as}
	for i := range l.stops {
		v := at(i)
		if v.N == 0 {
			continue
		}
		ln.last = linePoint{i, v}
		if !math.IsNaN(v.Median) && !math.IsInf(v.Median, 0) && (l.y != logScale || v.Median > 0) {
			ln.points = append(ln.points, ln.last)
		}
	}
	if len(ln.points) > 0 {
		l.lines = append(l.lines, ln)
	}
}

// end returns the figure at the end of ln, with its stop if it is not the last of the
// chart.
func (l *lineChart) end(ln line) string {
	if l.caption != nil {
		if text := l.caption(ln.name); text != "" {
			return text
		}
	}
	text := l.figure(ln.last.Median)
	if ln.last.stop < len(l.stops)-1 {
		text += " " + l.place + " " + l.stops[ln.last.stop].label
	}
	return text
}

func (l *lineChart) yRange() (lo, hi float64) {
	if l.y == shareScale {
		return 0, 100
	}
	lo, hi = math.Inf(1), 0
	for _, ln := range l.lines {
		for _, p := range ln.points {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
			if p.Lo > 0 {
				lo = min(lo, p.Lo)
			}
			if !math.IsInf(p.Hi, 0) && !math.IsNaN(p.Hi) {
				hi = max(hi, p.Hi)
			}
		}
	}
	for _, v := range l.also {
		lo, hi = min(lo, v), max(hi, v)
	}
	if l.y == countScale {
		if hi *= 1.06; !(hi > 0) || hi > 1e300 {
			hi = 1
		}
		return 0, hi
	}
	if l.least > 0 {
		lo = min(lo, l.least)
	}
	return logRange(lo, hi)
}

// spread returns the ratio of the greatest to the least median, or 0 without lines.
func (l *lineChart) spread() float64 {
	lo, hi := math.Inf(1), 0.0
	for _, ln := range l.lines {
		for _, p := range ln.points {
			lo, hi = min(lo, p.Median), max(hi, p.Median)
		}
	}
	return hi / lo
}

func (l *lineChart) axes() *plot.Plot {
	used := make([]bool, len(l.stops))
	for _, ln := range l.lines {
		for _, p := range ln.points {
			used[p.stop] = true
		}
	}
	var stops []stop
	for i, s := range l.stops {
		if used[i] {
			stops = append(stops, s)
		}
	}
	xLo, xHi := stops[0].at, stops[len(stops)-1].at
	switch {
	case xLo < xHi:
	case l.xScale == nil:
		xLo, xHi = xLo-1, xHi+1
	default:
		xLo, xHi = xLo/2, xHi*2
	}
	yLo, yHi := l.yRange()
	p := newPlot(xLo, xHi, yLo, yHi)
	if l.xScale != nil {
		p.X.Scale = l.xScale
	}
	p.X.Tick.Marker = stopTicks(stops, l.xScale)
	switch l.y {
	case shareScale:
		p.Y.Tick.Marker = plot.ConstantTicks{{Value: 0, Label: "0 %"}, {Value: 25, Label: "25 %"}, {Value: 50, Label: "50 %"}, {Value: 75, Label: "75 %"}, {Value: 100, Label: "100 %"}}
	case logScale:
		p.Y.Scale, p.Y.Tick.Marker = warp(logarithm), logTicks(yLo, yHi, l.format)
	case countScale:
		p.Y.Tick.Marker = linearTicks(yLo, yHi, l.format)
	}
	return p
}

// drawn returns the lines as a drawing.
func (l *lineChart) drawn() sketch {
	if l.apart || len(l.lines) > mostLines {
		return sketch{panelsHeight(len(l.lines)), l.frames}
	}
	return sketch{max(300, vg.Length(len(l.lines))*labelGap+50), l.frame}
}

func (l *lineChart) frame(c draw.Canvas) error {
	p := l.axes()
	labels := make([]endLabel, len(l.lines))
	for i, ln := range l.lines {
		labels[i] = endLabel{text: ln.name + labelSep + l.end(ln), look: ln.look}
	}
	p.Add(drawing(l.zone), drawing(l.zoneText), gridlines(false))
	if l.under != nil {
		p.Add(l.under)
	}
	if l.own != nil {
		p.Add(l.own(""))
	}
	p.Add(drawing(func(c draw.Canvas, p *plot.Plot) {
		l.draw(c, p, l.lines)
		for i, ln := range l.lines {
			pts := l.trace(ln, c, p)
			labels[i].y = extend(c, ln.look, pts)
		}
		drawLabels(c, c.Max.X, labels)
	}))
	place(p, draw.Crop(c, 0, -labelRoom(labels), 0, 0), l.xTitle, l.yTitle)
	drawNotes(c, l.notes)
	return nil
}

// frames draws every line in its own frame.
func (l *lineChart) frames(c draw.Canvas) error {
	m := multiples{plot: l.axes(), xTitle: l.xTitle, yTitle: l.yTitle, notes: append(slices.Clone(l.notes), note{colour: ghost, line: true, text: "the other locks"})}
	if p := m.plot; l.cpus >= 1 && float64(l.cpus) < p.X.Max {
		m.notes = append(m.notes, note{colour: warm, text: fmt.Sprintf("more workers than CPUs (%d)", l.cpus)})
	}
	m.under = func(c draw.Canvas, p *plot.Plot) {
		l.zone(c, p)
		gridlines(false)(c, p)
		if l.under != nil {
			l.under(c, p)
		}
	}
	for _, ln := range l.lines {
		var own drawing
		if l.own != nil {
			own = l.own(ln.name)
		}
		ln.look = ln.look.alone()
		m.panels = append(m.panels, panel{
			name:   ln.name,
			look:   ln.look,
			figure: l.end(ln),
			trace:  func(c draw.Canvas, p *plot.Plot) []vg.Point { return l.trace(ln, c, p) },
			draw: func(c draw.Canvas, p *plot.Plot) {
				if own != nil {
					own(c, p)
				}
				l.draw(c, p, []line{ln})
			},
		})
	}
	return m.body(c)
}

// zone shades the range with more workers than processors.
func (l *lineChart) zone(c draw.Canvas, p *plot.Plot) {
	cpus := float64(l.cpus)
	if cpus < 1 || cpus >= p.X.Max {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(cpus), c.Min.X)
	c.FillPolygon(warm.rgba(), rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	if cpus >= p.X.Min {
		c.StrokeLine2(draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	}
}

// zoneText explains the zone above the frame, where it hides no line.
func (l *lineChart) zoneText(c draw.Canvas, p *plot.Plot) {
	cpus := float64(l.cpus)
	if cpus < 1 || cpus >= p.X.Max {
		return
	}
	trX, _ := p.Transforms(&c)
	x := max(trX(cpus), c.Min.X)
	st := typeset(7.5, muted, draw.XRight, draw.YBottom)
	for _, text := range []string{fmt.Sprintf("more workers than CPUs (%d)", l.cpus), "more workers than CPUs", "> CPUs"} {
		if st.Width(text)+6 < c.Max.X-x {
			c.FillText(st, vg.Point{X: c.Max.X, Y: c.Max.Y + 6}, text)
			return
		}
	}
}

// at returns the position of v at stop i.
func (l *lineChart) at(c draw.Canvas, p *plot.Plot, i int, v float64) vg.Point {
	trX, trY := p.Transforms(&c)
	pt := vg.Point{X: trX(l.stops[i].at), Y: c.Min.Y}
	if !math.IsNaN(v) {
		pt.Y = max(c.Min.Y, min(trY(v), c.Max.Y))
	}
	return pt
}

func (l *lineChart) trace(ln line, c draw.Canvas, p *plot.Plot) (pts []vg.Point) {
	for _, pt := range ln.points {
		pts = append(pts, l.at(c, p, pt.stop, pt.Median))
	}
	return pts
}

// extend draws a faint line from the end of pts to the right edge if the line ends before
// it. It returns the height of the end.
func extend(c draw.Canvas, as look, pts []vg.Point) vg.Length {
	end := pts[len(pts)-1]
	if end.X < c.Max.X-1 {
		c.StrokeLine2(draw.LineStyle{Color: as.hue.alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, end.X, end.Y, c.Max.X, end.Y)
	}
	return end.Y
}

// draw draws bands first, lines next and markers last.
func (l *lineChart) draw(c draw.Canvas, p *plot.Plot, lines []line) {
	for _, ln := range lines {
		var band []vg.Point
		for _, pt := range ln.points {
			band = append(band, l.at(c, p, pt.stop, pt.Hi))
		}
		for _, pt := range slices.Backward(ln.points) {
			band = append(band, l.at(c, p, pt.stop, pt.Lo))
		}
		opacity := uint8(22)
		if ln.look.strong {
			opacity = 44
		}
		c.FillPolygon(ln.look.hue.alpha(opacity), band)
	}
	for _, ln := range lines {
		c.StrokeLines(ln.look.line(), l.trace(ln, c, p))
	}
	for _, strong := range []bool{false, true} {
		for _, ln := range lines {
			for _, pt := range l.trace(ln, c, p) {
				if ln.look.strong == strong {
					ln.look.mark(c, pt)
				}
			}
		}
	}
}

package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/internal/stat"
)

// A Lines draws a figure over an axis of the workload, one line per lock. All lines
// share one frame, or each has its own if they are many.
type Lines struct {
	Stops    []Stop // ascending positions on the x axis
	XTitle   string
	XScale   Warp     // nil is linear
	Place    string   // between a figure and the stop it is from: "with", "at"
	Zone     float64  // greater positions are shaded; 0 disables it
	ZoneText []string // its meaning, the longest first

	Y      Scale
	Least  float64 // upper bound for the start of a logarithmic y axis; 0 sets none
	YTitle string
	Format func(v float64) string // of the y axis
	Figure func(v float64) string // of the value at the line's end

	Under Layer // drawn before the lines; may be nil
	// own is drawn before the line of that name, in its frame if it has one. For "" it draws
	// the common part of all lines. It may be nil.
	Own   func(name string) Layer
	Lines []line

	Also  []float64 // further figures that the y axis must reach
	Notes []Note    // meaning of shades and marks
	Apart bool      // each line has its own frame, even if they are few

	// caption, if not nil, replaces the figure next to a name; "" keeps the figure.
	Caption func(name string) string
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
	Name   string
	Look   Look
	Points []linePoint
	last   linePoint // at the last stop with a figure, drawn or not
}

type linePoint struct {
	Stop int // index in Lines.stops
	stat.Summary
}

// Add adds a line; at(i) is its figure at stop i.
func (l *Lines) Add(name string, as Look, at func(i int) stat.Summary) {
	ln := line{Name: name, Look: as}
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

// end returns the figure at the end of ln, with its stop if it is not the last of the
// chart.
func (l *Lines) end(ln line) string {
	if l.Caption != nil {
		if text := l.Caption(ln.Name); text != "" {
			return text
		}
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
	for _, v := range l.Also {
		lo, hi = min(lo, v), max(hi, v)
	}
	if l.Y == CountScale {
		if hi *= 1.06; !(hi > 0) || hi > 1e300 {
			hi = 1
		}
		return 0, hi
	}
	if l.Least > 0 {
		lo = min(lo, l.Least)
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

func (l *Lines) Axes() *plot.Plot {
	used := make([]bool, len(l.Stops))
	for _, ln := range l.Lines {
		for _, p := range ln.Points {
			used[p.Stop] = true
		}
	}
	var stops []Stop
	for i, s := range l.Stops {
		if used[i] {
			stops = append(stops, s)
		}
	}
	xLo, xHi := stops[0].At, stops[len(stops)-1].At
	switch {
	case xLo < xHi:
	case l.XScale == nil:
		xLo, xHi = xLo-1, xHi+1
	default:
		xLo, xHi = xLo/2, xHi*2
	}
	yLo, yHi := l.yRange()
	p := NewPlot(xLo, xHi, yLo, yHi)
	if l.XScale != nil {
		p.X.Scale = l.XScale
	}
	p.X.Tick.Marker = StopTicks(stops, l.XScale)
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

// Drawn returns the lines as a drawing.
func (l *Lines) Drawn() Picture {
	if l.Apart || len(l.Lines) > MostLines {
		return Picture{PanelsHeight(len(l.Lines)), l.frames}
	}
	return Picture{max(300, vg.Length(len(l.Lines))*LabelGap+50), l.frame}
}

func (l *Lines) frame(c draw.Canvas) error {
	p := l.Axes()
	labels := make([]EndLabel, len(l.Lines))
	for i, ln := range l.Lines {
		labels[i] = EndLabel{Text: ln.Name + LabelSep + l.end(ln), Look: ln.Look}
	}
	p.Add(Layer(l.Shade), Layer(l.zoneText), Gridlines(false))
	if l.Under != nil {
		p.Add(l.Under)
	}
	if l.Own != nil {
		p.Add(l.Own(""))
	}
	p.Add(Layer(func(c draw.Canvas, p *plot.Plot) {
		l.Draw(c, p, l.Lines)
		for i, ln := range l.Lines {
			pts := l.trace(ln, c, p)
			labels[i].Y = Extend(c, ln.Look, pts)
		}
		DrawLabels(c, c.Max.X, labels)
	}))
	Place(p, draw.Crop(c, 0, -LabelRoom(labels), 0, 0), l.XTitle, l.YTitle)
	DrawNotes(c, l.Notes)
	return nil
}

// frames draws every line in its own frame.
func (l *Lines) frames(c draw.Canvas) error {
	m := Multiples{Plot: l.Axes(), XTitle: l.XTitle, YTitle: l.YTitle, Notes: append(slices.Clone(l.Notes), Note{Colour: Ghost, Line: true, Text: "the other locks"})}
	m.Notes = append(m.Notes, l.ZoneNote(m.Plot)...)
	m.Under = func(c draw.Canvas, p *plot.Plot) {
		l.Shade(c, p)
		Gridlines(false)(c, p)
		if l.Under != nil {
			l.Under(c, p)
		}
	}
	for _, ln := range l.Lines {
		var own Layer
		if l.Own != nil {
			own = l.Own(ln.Name)
		}
		ln.Look = ln.Look.Alone()
		m.Panels = append(m.Panels, Panel{
			Name:   ln.Name,
			Look:   ln.Look,
			Figure: l.end(ln),
			Trace:  func(c draw.Canvas, p *plot.Plot) []vg.Point { return l.trace(ln, c, p) },
			Draw: func(c draw.Canvas, p *plot.Plot) {
				if own != nil {
					own(c, p)
				}
				l.Draw(c, p, []line{ln})
			},
		})
	}
	return m.Body(c)
}

// Shade shades the zone.
func (l *Lines) Shade(c draw.Canvas, p *plot.Plot) {
	x, ok := l.zone(c, p)
	if !ok {
		return
	}
	c.FillPolygon(Warm.RGBA(), Rect(x, c.Min.Y, c.Max.X, c.Max.Y))
	if l.Zone >= p.X.Min {
		c.StrokeLine2(draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.6), Dashes: []vg.Length{2, 2}}, x, c.Min.Y, x, c.Max.Y)
	}
}

// zone returns the left end of the zone, if it is on the axis.
func (l *Lines) zone(c draw.Canvas, p *plot.Plot) (x vg.Length, ok bool) {
	if l.Zone < 1 || l.Zone >= p.X.Max {
		return 0, false
	}
	trX, _ := p.Transforms(&c)
	return max(trX(l.Zone), c.Min.X), true
}

// zoneText explains the zone above the frame, where it hides no line.
func (l *Lines) zoneText(c draw.Canvas, p *plot.Plot) {
	x, ok := l.zone(c, p)
	st := Typeset(7.5, Muted, draw.XRight, draw.YBottom)
	for _, text := range l.ZoneText {
		if ok && st.Width(text)+6 < c.Max.X-x {
			c.FillText(st, vg.Point{X: c.Max.X, Y: c.Max.Y + 6}, text)
			return
		}
	}
}

// ZoneNote explains the zone in a picture of small frames.
func (l *Lines) ZoneNote(p *plot.Plot) (notes []Note) {
	if l.Zone >= 1 && l.Zone < p.X.Max {
		notes = append(notes, Note{Colour: Warm, Text: l.ZoneText[0]})
	}
	return notes
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
	return pts
}

// Extend draws a faint line from the end of pts to the right edge if the line ends before
// it. It returns the height of the end.
func Extend(c draw.Canvas, as Look, pts []vg.Point) vg.Length {
	end := pts[len(pts)-1]
	if end.X < c.Max.X-1 {
		c.StrokeLine2(draw.LineStyle{Color: as.Hue.Alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, end.X, end.Y, c.Max.X, end.Y)
	}
	return end.Y
}

// Draw draws bands first, lines next and markers last.
func (l *Lines) Draw(c draw.Canvas, p *plot.Plot, lines []line) {
	for _, ln := range lines {
		var band []vg.Point
		for _, pt := range ln.Points {
			band = append(band, l.At(c, p, pt.Stop, pt.Hi))
		}
		for _, pt := range slices.Backward(ln.Points) {
			band = append(band, l.At(c, p, pt.Stop, pt.Lo))
		}
		opacity := uint8(22)
		if ln.Look.Strong {
			opacity = 44
		}
		c.FillPolygon(ln.Look.Hue.Alpha(opacity), band)
	}
	for _, ln := range lines {
		c.StrokeLines(ln.Look.Line(), l.trace(ln, c, p))
	}
	for _, strong := range []bool{false, true} {
		for _, ln := range lines {
			for _, pt := range l.trace(ln, c, p) {
				if ln.Look.Strong == strong {
					ln.Look.Mark(c, pt)
				}
			}
		}
	}
}

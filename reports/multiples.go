package reports

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// mostLines is the greatest number of lines in one frame. If there are more they cross too
// often, and each gets its own frame.
const mostLines = 8

const (
	panelColumns = 4
	panelGap     = vg.Length(14) // between columns
	panelStep    = vg.Length(107)
	panelHead    = vg.Length(17) // name and figure, over the frame
	panelFoot    = vg.Length(10) // between the frame and the next name
	panelScale   = vg.Length(42) // left of the first column
)

// Multiples are small frames with the same axes, one for each lock. Each highlights its
// lock against all others.
type multiples struct {
	plot   *plot.Plot // the axes, with their ticks
	under  drawing    // grid and zones, behind the lines of every frame; may be nil
	panels []panel
	yTitle string
	xTitle string
	notes  []note // meaning of a shade or a grey line
}

type panel struct {
	name   string
	look   look
	figure string // right of the name
	// trace returns the lock's line in the frame c; the other frames show it in grey.
	trace func(c draw.Canvas, p *plot.Plot) []vg.Point
	draw  drawing // the lock itself
	under drawing // drawn behind all lines of the frame, such as an area; may be nil
}

// A note explains a colour by a sample of it.
type note struct {
	colour token
	line   bool // the sample is a line, not a field
	text   string

	// sample, if not nil, draws the sample in a box instead.
	sample func(c draw.Canvas, box vg.Rectangle)
}

// alone returns l for its own frame, where it needs no dash.
func (l look) alone() look {
	l.dash = nil
	if l.hollow { // simulated lines stay dashed
		l.dash, l.marker = modelDashes[0], modelShapes[0]
	}
	return l
}

func panelRows(n int) int { return (n + panelColumns - 1) / panelColumns }

// panelsHeight returns the height of n small multiples.
func panelsHeight(n int) vg.Length { return vg.Length(panelRows(n))*panelStep + 40 }

func (m multiples) body(c draw.Canvas) error {
	c = draw.Crop(c, 0, 0, vg.Points(4), 0) // room for descenders
	c.FillText(typeset(9, ink, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, m.yTitle)
	drawNotes(c, m.notes)
	left := vg.Length(panelScale)
	rows := panelRows(len(m.panels))
	columns := vg.Length(min(panelColumns, len(m.panels)))
	wide := (c.Size().X - left - panelGap*(columns-1) - 4) / columns
	c.FillText(typeset(9, ink, draw.XCenter, draw.YBottom), vg.Point{X: c.Min.X + left + (c.Size().X-left)/2, Y: c.Min.Y}, m.xTitle)

	box := func(i int) draw.Canvas {
		col, row := i%panelColumns, i/panelColumns
		b := c
		b.Min.X = c.Min.X + left + vg.Length(col)*(wide+panelGap)
		b.Max.X = b.Min.X + wide
		b.Max.Y = c.Max.Y - 18 - vg.Length(row)*panelStep - panelHead
		b.Min.Y = b.Max.Y - panelStep + panelHead + panelFoot
		return b
	}
	// All frames have one size, so each line is traced once and moved. It is also thinned:
	// in grey no reader sees the difference, and a page has n² of these lines.
	origin := box(0)
	traces := make([][]vg.Point, len(m.panels))
	for i, pn := range m.panels {
		traces[i] = thin(pn.trace(origin, m.plot), 0.45)
	}
	for i, pn := range m.panels {
		b := box(i)
		if pn.under != nil {
			pn.under(b, m.plot)
		}
		_, below := i/panelColumns+1, i+panelColumns < len(m.panels)
		m.frame(b, i%panelColumns == 0, !below || i/panelColumns == rows-1)
		ghosts(b, traces, i, vg.Point{X: b.Min.X - origin.Min.X, Y: b.Min.Y - origin.Min.Y})
		pn.draw(b, m.plot)
		pn.head(b)
	}
	return nil
}

// ghosts draws all traces except number skip, moved by d, as one path.
func ghosts(c draw.Canvas, traces [][]vg.Point, skip int, d vg.Point) {
	var path vg.Path
	for i, pts := range traces {
		if i == skip || len(pts) < 2 {
			continue
		}
		path.Move(pts[0].Add(d))
		for _, pt := range pts[1:] {
			path.Line(pt.Add(d))
		}
	}
	if path == nil {
		return
	}
	c.SetLineStyle(draw.LineStyle{Color: ghost.rgba(), Width: vg.Points(0.7)})
	c.Stroke(path)
}

// frame draws the axes around b; scale and foot select the figures of the y axis and of the
// x axis.
func (m multiples) frame(b draw.Canvas, scale, foot bool) {
	if m.under != nil {
		m.under(b, m.plot)
	}
	trX, _ := m.plot.Transforms(&b)
	line := draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.75)}
	c := b
	c.StrokeLines(line, []vg.Point{{X: b.Min.X, Y: b.Max.Y}, b.Min, {X: b.Max.X, Y: b.Min.Y}})
	if scale {
		m.scale(b)
	}
	st := typeset(8, muted, draw.XCenter, draw.YTop)
	next := vg.Length(math.Inf(-1))
	for _, t := range m.plot.X.Tick.Marker.Ticks(m.plot.X.Min, m.plot.X.Max) {
		if t.IsMinor() {
			continue
		}
		x := trX(t.Value)
		c.StrokeLine2(line, x, b.Min.Y, x, b.Min.Y-2.5)
		half := st.Width(t.Label) / 2
		x = min(max(x, b.Min.X-2+half), b.Max.X+2-half) // clear of the next frame's labels, in a wider font as well
		if foot && x-half >= next {
			c.FillText(st, vg.Point{X: x, Y: b.Min.Y - 4}, t.Label)
			next = x + half + 5
		}
	}
}

// scale writes the figures of the y axis left of b: powers of ten first, then others that
// fit.
func (m multiples) scale(b draw.Canvas) {
	_, trY := m.plot.Transforms(&b)
	st := typeset(8, muted, draw.XRight, draw.YCenter)
	var taken []vg.Length
	for _, tens := range []bool{true, false} {
		for _, t := range m.plot.Y.Tick.Marker.Ticks(m.plot.Y.Min, m.plot.Y.Max) {
			y := trY(t.Value)
			near := func(at vg.Length) bool { return math.Abs(float64(at-y)) < 11 }
			if t.IsMinor() || powerOfTen(t.Value) != tens || slices.ContainsFunc(taken, near) {
				continue
			}
			c := b
			c.FillText(st, vg.Point{X: b.Min.X - 5, Y: y}, t.Label)
			taken = append(taken, y)
		}
	}
}

func (pn panel) head(b draw.Canvas) {
	c := b
	name := typeset(8.5, ink, draw.XLeft, draw.YBottom)
	if pn.look.strong {
		name = bold(name)
	}
	right := typeset(7.5, muted, draw.XRight, draw.YBottom)
	c.FillText(name, vg.Point{X: b.Min.X, Y: b.Max.Y + 5}, shorten(name, pn.name, b.Size().X-right.Width(pn.figure)-6))
	c.FillText(right, vg.Point{X: b.Max.X, Y: b.Max.Y + 5}, pn.figure)
}

func drawNotes(c draw.Canvas, notes []note) {
	st := typeset(8, muted, draw.XLeft, draw.YTop)
	x := c.Max.X - 4
	for i := len(notes) - 1; i >= 0; i-- {
		n := notes[i]
		x -= st.Width(n.text)
		c.FillText(st, vg.Point{X: x, Y: c.Max.Y}, n.text)
		x -= 18
		y := c.Max.Y - 5
		switch {
		case n.sample != nil:
			n.sample(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + 14, Y: y + 4}})
		case n.line:
			c.StrokeLine2(draw.LineStyle{Color: n.colour.rgba(), Width: vg.Points(1.2)}, x, y, x+14, y)
		default:
			c.FillPolygon(n.colour.rgba(), rect(x, y-4, x+14, y+4))
		}
		x -= 14
	}
}

// thin removes points from a polyline; the result differs by at most off. Source: D.
// Douglas, T. Peucker, "Algorithms for the reduction of the number of points required to
// represent a digitized line or its caricature", Cartographica 10(2), 1973.
func thin(pts []vg.Point, off vg.Length) []vg.Point {
	if len(pts) < 3 {
		return pts
	}
	a, b := pts[0], pts[len(pts)-1]
	far, most := 0, off
	d := b.Sub(a)
	long := d.X*d.X + d.Y*d.Y
	for i := 1; i < len(pts)-1; i++ {
		v := pts[i].Sub(a)
		if long > 0 { // from the nearest place on the way from a to b
			v = v.Sub(d.Scale(max(0, min(1, (v.X*d.X+v.Y*d.Y)/long))))
		}
		if off := vg.Length(math.Hypot(float64(v.X), float64(v.Y))); off > most {
			far, most = i, off
		}
	}
	if far == 0 {
		return []vg.Point{a, b}
	}
	head := thin(pts[:far+1], off)
	return append(head[:len(head)-1:len(head)-1], thin(pts[far:], off)...)
}

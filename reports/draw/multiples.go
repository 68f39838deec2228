package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// MostLines is the greatest number of lines in one frame. If there are more they cross too
// often, and each gets its own frame.
const MostLines = 8

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
type Multiples struct {
	Plot   *plot.Plot // the axes, with their ticks
	Under  Layer      // grid and zones, behind the lines of every frame; may be nil
	Panels []Panel
	YTitle string
	XTitle string
	Notes  []Note // meaning of a shade or a grey line
}

type Panel struct {
	Name   string
	Look   Look
	Figure string // right of the name
	// trace returns the lock's line in the frame c; the other frames show it in grey.
	Trace func(c draw.Canvas, p *plot.Plot) []vg.Point
	Draw  Layer // the lock itself
	Under Layer // drawn behind all lines of the frame, such as an area; may be nil
}

// A Note explains a colour by a sample of it.
type Note struct {
	Colour Token
	Line   bool // the sample is a line, not a field
	Text   string

	// sample, if not nil, draws the sample in a box instead.
	Sample func(c draw.Canvas, box vg.Rectangle)
}

// GlyphNote explains a mark.
func GlyphNote(shape draw.GlyphDrawer, text string) Note {
	return Note{Text: text, Sample: func(c draw.Canvas, box vg.Rectangle) {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: Muted.RGBA(), Radius: 2.8, Shape: shape}, vg.Point{X: box.Max.X - 4, Y: (box.Min.Y + box.Max.Y) / 2})
	}}
}

// Alone returns l for its own frame, where it needs no dash.
func (l Look) Alone() Look {
	l.Dash = nil
	if l.Hollow { // simulated lines stay dashed
		l.Dash, l.Marker = ModelDashes[0], ModelShapes[0]
	}
	return l
}

func panelRows(n int) int { return (n + panelColumns - 1) / panelColumns }

// PanelsHeight returns the height of n small multiples.
func PanelsHeight(n int) vg.Length { return vg.Length(panelRows(n))*panelStep + 40 }

func (m Multiples) Body(c draw.Canvas) error {
	c = draw.Crop(c, 0, 0, vg.Points(4), 0) // room for descenders
	c.FillText(Typeset(9, Ink, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, m.YTitle)
	DrawNotes(c, m.Notes)
	left := vg.Length(panelScale)
	rows := panelRows(len(m.Panels))
	columns := vg.Length(min(panelColumns, len(m.Panels)))
	wide := (c.Size().X - left - panelGap*(columns-1) - 4) / columns
	c.FillText(Typeset(9, Ink, draw.XCenter, draw.YBottom), vg.Point{X: c.Min.X + left + (c.Size().X-left)/2, Y: c.Min.Y}, m.XTitle)

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
	traces := make([][]vg.Point, len(m.Panels))
	for i, pn := range m.Panels {
		traces[i] = Thin(pn.Trace(origin, m.Plot), 0.45)
	}
	for i, pn := range m.Panels {
		b := box(i)
		if pn.Under != nil {
			pn.Under(b, m.Plot)
		}
		_, below := i/panelColumns+1, i+panelColumns < len(m.Panels)
		m.frame(b, i%panelColumns == 0, !below || i/panelColumns == rows-1)
		ghosts(b, traces, i, vg.Point{X: b.Min.X - origin.Min.X, Y: b.Min.Y - origin.Min.Y})
		pn.Draw(b, m.Plot)
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
	c.SetLineStyle(draw.LineStyle{Color: Ghost.RGBA(), Width: vg.Points(0.7)})
	c.Stroke(path)
}

// frame draws the axes around b; scale and foot select the figures of the y axis and of the
// x axis.
func (m Multiples) frame(b draw.Canvas, scale, foot bool) {
	if m.Under != nil {
		m.Under(b, m.Plot)
	}
	trX, _ := m.Plot.Transforms(&b)
	line := draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.75)}
	c := b
	c.StrokeLines(line, []vg.Point{{X: b.Min.X, Y: b.Max.Y}, b.Min, {X: b.Max.X, Y: b.Min.Y}})
	if scale {
		m.scale(b)
	}
	st := Typeset(8, Muted, draw.XCenter, draw.YTop)
	next := vg.Length(math.Inf(-1))
	for _, t := range m.Plot.X.Tick.Marker.Ticks(m.Plot.X.Min, m.Plot.X.Max) {
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
func (m Multiples) scale(b draw.Canvas) {
	_, trY := m.Plot.Transforms(&b)
	st := Typeset(8, Muted, draw.XRight, draw.YCenter)
	var taken []vg.Length
	for _, tens := range []bool{true, false} {
		for _, t := range m.Plot.Y.Tick.Marker.Ticks(m.Plot.Y.Min, m.Plot.Y.Max) {
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

func (pn Panel) head(b draw.Canvas) {
	c := b
	name := Typeset(8.5, Ink, draw.XLeft, draw.YBottom)
	if pn.Look.Strong {
		name = Bold(name)
	}
	right := Typeset(7.5, Muted, draw.XRight, draw.YBottom)
	c.FillText(name, vg.Point{X: b.Min.X, Y: b.Max.Y + 5}, Shorten(name, pn.Name, b.Size().X-right.Width(pn.Figure)-6))
	c.FillText(right, vg.Point{X: b.Max.X, Y: b.Max.Y + 5}, pn.Figure)
}

func DrawNotes(c draw.Canvas, notes []Note) {
	st := Typeset(8, Muted, draw.XLeft, draw.YTop)
	x := c.Max.X - 4
	for i := len(notes) - 1; i >= 0; i-- {
		n := notes[i]
		x -= st.Width(n.Text)
		c.FillText(st, vg.Point{X: x, Y: c.Max.Y}, n.Text)
		x -= 18
		y := c.Max.Y - 5
		switch {
		case n.Sample != nil:
			n.Sample(c, vg.Rectangle{Min: vg.Point{X: x, Y: y - 4}, Max: vg.Point{X: x + 14, Y: y + 4}})
		case n.Line:
			c.StrokeLine2(draw.LineStyle{Color: n.Colour.RGBA(), Width: vg.Points(1.2)}, x, y, x+14, y)
		default:
			c.FillPolygon(n.Colour.RGBA(), Rect(x, y-4, x+14, y+4))
		}
		x -= 14
	}
}

// Thin removes points from a polyline; the result differs by at most off. Source: D.
// Douglas, T. Peucker, "Algorithms for the reduction of the number of points required to
// represent a digitized line or its caricature", Cartographica 10(2), 1973.
func Thin(pts []vg.Point, off vg.Length) []vg.Point {
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
	head := Thin(pts[:far+1], off)
	return append(head[:len(head)-1:len(head)-1], Thin(pts[far:], off)...)
}

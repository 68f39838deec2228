package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	panelColumns = 4
	panelGap     = vg.Length(14) // between columns
	panelHead    = vg.Length(17) // name and figure, over the frame
	panelFoot    = vg.Length(10) // between the frame and the next name
	panelScale   = vg.Length(42) // left of the first column
	legend       = vg.Length(18) // over a plain drawing
)

func rowHeight(rows int) vg.Length { return max(107, 280/vg.Length(rows)) }

// Drawn returns the lines as a drawing: each in a frame of its own that highlights it against
// all others, or those of one frame together if the drawing is plain.
func (l *Lines) Drawn() Picture {
	s := l.shape()
	rows := panelRows(s.Parts)
	height := vg.Length(rows)*rowHeight(rows) + 40
	if l.Plain {
		height += legend
	}
	return Picture{Height: height, Body: l.panels, Shape: s}
}

func (l *Lines) shape() Shape {
	alike := func(a, b line) bool {
		return slices.EqualFunc(a.Points, b.Points, func(a, b linePoint) bool {
			return a.Stop == b.Stop && max(a.Median, b.Median) <= Alike*min(a.Median, b.Median)
		})
	}
	frames := l.split()
	s := Shape{Parts: len(frames), Equal: len(frames) > 1}
	for _, lines := range frames {
		if slices.ContainsFunc(lines, func(ln line) bool { return len(ln.Points) > 1 }) {
			s.Curves++
		}
		s.Equal = s.Equal && slices.EqualFunc(lines, frames[0], alike)
	}
	return s
}

// split returns the lines of each frame.
func (l *Lines) split() (out [][]line) {
	for _, ln := range l.Lines {
		i := slices.IndexFunc(out, func(lines []line) bool { return lines[0].frame == ln.frame })
		if i < 0 {
			i, out = len(out), append(out, nil)
		}
		out[i] = append(out[i], ln)
	}
	return out
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

// LineNote explains a line with its mark.
func LineNote(s Style, text string) Note {
	return Note{Text: text, Sample: func(c draw.Canvas, box vg.Rectangle) {
		y := (box.Min.Y + box.Max.Y) / 2
		c.StrokeLine2(s.Line(), box.Min.X-8, y, box.Max.X, y)
		s.Mark(c, vg.Point{X: (box.Min.X - 8 + box.Max.X) / 2, Y: y})
	}}
}

func panelRows(n int) int { return (n + panelColumns - 1) / panelColumns }

func (l *Lines) panels(c draw.Canvas) error {
	top := c
	if l.Plain {
		c.Max.Y -= legend
	}
	panels := l.split()
	rows := panelRows(len(panels))
	step := rowHeight(rows)
	columns := vg.Length(min(panelColumns, len(panels)))
	wide := (c.Size().X - panelScale - panelGap*(columns-1) - 4) / columns
	c.FillText(Typeset(9, Ink, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, l.YTitle)
	c.FillText(Typeset(9, Ink, draw.XCenter, draw.YBottom), vg.Point{X: (c.Min.X + panelScale + c.Max.X) / 2, Y: c.Min.Y + 4}, l.XTitle)

	box := func(i int) draw.Canvas {
		col, row := i%panelColumns, i/panelColumns
		b := c
		b.Min.X = c.Min.X + panelScale + vg.Length(col)*(wide+panelGap)
		b.Max.X = b.Min.X + wide
		b.Max.Y = c.Max.Y - 18 - vg.Length(row)*step - panelHead
		b.Min.Y = b.Max.Y - step + panelHead + panelFoot
		return b
	}
	// All frames have one size, so each line is traced once and moved. It is also thinned:
	// in grey no reader sees the difference, and a page has n² of these lines.
	p, origin := l.axes(), box(0)
	notes := slices.Clone(l.Notes)
	if l.zoned(p) {
		notes = append(notes, Note{Colour: Warm, Text: l.ZoneText})
	}
	var traces [][]vg.Point
	if !l.Plain && len(panels) > 1 {
		for _, lines := range panels {
			traces = append(traces, Thin(l.trace(lines[0], origin, p), 0.45))
		}
		notes = append(notes, Note{Colour: Ghost, Line: true, Text: "the others"})
	}
	DrawNotes(top, notes)
	for i, lines := range panels {
		b := box(i)
		l.shade(b, p)
		gridlines(b, p)
		if l.Under != nil {
			l.Under(b, p, lines[0].frame)
		}
		drawAxes(b, p, i%panelColumns == 0, i+panelColumns >= len(panels) || i/panelColumns == rows-1)
		ghosts(b, traces, i, vg.Point{X: b.Min.X - origin.Min.X, Y: b.Min.Y - origin.Min.Y})
		l.over(b, p, lines)
		l.head(b, lines[0])
	}
	return nil
}

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

// drawAxes draws the axes of a small frame, with the labels of the y axis and of the x axis.
func drawAxes(b draw.Canvas, p *plot.Plot, scale, foot bool) {
	trX, _ := p.Transforms(&b)
	line := draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.75)}
	b.StrokeLines(line, []vg.Point{{X: b.Min.X, Y: b.Max.Y}, b.Min, {X: b.Max.X, Y: b.Min.Y}})
	if scale {
		drawScale(b, p)
	}
	st := Typeset(8, Muted, draw.XCenter, draw.YTop)
	next := vg.Length(math.Inf(-1))
	for _, t := range p.X.Tick.Marker.Ticks(p.X.Min, p.X.Max) {
		if t.IsMinor() {
			continue
		}
		x := trX(t.Value)
		b.StrokeLine2(line, x, b.Min.Y, x, b.Min.Y-2.5)
		half := st.Width(t.Label) / 2
		x = min(max(x, b.Min.X-2+half), b.Max.X+2-half) // clear of the next frame's labels, in a wider font as well
		if foot && x-half >= next {
			b.FillText(st, vg.Point{X: x, Y: b.Min.Y - 4}, t.Label)
			next = x + half + 5
		}
	}
}

func drawScale(b draw.Canvas, p *plot.Plot) {
	_, trY := p.Transforms(&b)
	st := Typeset(8, Muted, draw.XRight, draw.YCenter)
	ticks := p.Y.Tick.Marker.Ticks(p.Y.Min, p.Y.Max)
	extent := func(i int) (from, to float64) {
		y := float64(trY(ticks[i].Value))
		return y - 5.5, y + 5.5
	}
	for _, i := range spaced(len(ticks), func(i int) int { return tickRank(ticks[i]) }, extent) {
		b.FillText(st, vg.Point{X: b.Min.X - 5, Y: trY(ticks[i].Value)}, ticks[i].Label)
	}
}

func (l *Lines) head(b draw.Canvas, ln line) {
	name := boldIf(ln.Style.Strong, Typeset(8.5, Ink, draw.XLeft, draw.YBottom))
	right, end := Typeset(7.5, Muted, draw.XRight, draw.YBottom), l.end(ln)
	b.FillText(name, vg.Point{X: b.Min.X, Y: b.Max.Y + 5}, Shorten(name, ln.frame, b.Size().X-right.Width(end)-6))
	b.FillText(right, vg.Point{X: b.Max.X, Y: b.Max.Y + 5}, end)
}

func DrawNotes(c draw.Canvas, notes []Note) {
	st := Typeset(8, Muted, draw.XLeft, draw.YTop)
	x := c.Max.X - 4
	for _, n := range slices.Backward(notes) {
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

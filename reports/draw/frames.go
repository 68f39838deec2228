package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// MostLines is the most lines in one frame; more cross too often and get their own frames.
const MostLines = 8

const (
	panelColumns = 4
	panelGap     = vg.Length(14) // between columns
	panelStep    = vg.Length(107)
	panelHead    = vg.Length(17) // name and figure, over the frame
	panelFoot    = vg.Length(10) // between the frame and the next name
	panelScale   = vg.Length(42) // left of the first column
)

// Frames are curves over the same axes: all in one frame with their names at the right, or
// each in a small frame of its own that highlights it against all others.
type Frames struct {
	Plot           *plot.Plot // the axes, with their ticks
	Under          Layer      // grid and zones, behind all curves; may be nil
	Curves         []Curve
	XTitle, YTitle string
	Notes          []Note // meaning of shades and marks
	Apart          bool   // each curve has its own frame, even if they are few
	Plain          bool   // no frame shows the curves of the others; the notes have their own line
}

// A Curve is a named line with its layers, each of which may be nil.
type Curve struct {
	Frame  string // curves of one Frame share it if they are drawn apart
	Name   string
	Figure string // next to the name
	Style  Style
	Trace  func(c draw.Canvas, p *plot.Plot) []vg.Point // the line; the other frames show it in grey

	Under, Band, Line, Marks Layer // in this order; Under is behind the grid
}

// Apart reports whether n curves are drawn each in its own frame.
func Apart(n int) bool { return n > MostLines }

// Drawn returns the curves as a drawing.
func (f Frames) Drawn() Picture {
	if f.Apart || Apart(len(f.Curves)) {
		return Picture{vg.Length(panelRows(len(f.split())))*panelStep + 40 + f.legend(), f.panels}
	}
	return Picture{max(300, vg.Length(len(f.Curves))*LabelGap+50), f.frame}
}

func (f Frames) legend() vg.Length {
	if f.Plain {
		return 18
	}
	return 0
}

func (f Frames) split() (out [][]Curve) {
	index := make(map[string]int)
	for _, cv := range f.Curves {
		i, known := index[cv.Frame]
		if !known {
			i = len(out)
			index[cv.Frame], out = i, append(out, nil)
		}
		out[i] = append(out[i], cv)
	}
	return out
}

func (ls layers) draw(c draw.Canvas, p *plot.Plot) {
	for _, l := range ls {
		if l != nil {
			l(c, p)
		}
	}
}

type layers []Layer

// over returns the bands, lines and marks of curves, correct locks on top.
func over(curves []Curve) (all layers) {
	var lines, marks, strong layers
	for _, cv := range curves {
		all, lines = append(all, cv.Band), append(lines, cv.Line)
		if cv.Style.Strong {
			strong = append(strong, cv.Marks)
		} else {
			marks = append(marks, cv.Marks)
		}
	}
	return slices.Concat(all, lines, marks, strong)
}

func (f Frames) frame(c draw.Canvas) error {
	labels := make([]EndLabel, len(f.Curves))
	for i, cv := range f.Curves {
		labels[i] = EndLabel{Text: cv.Name + LabelSep + cv.Figure, Style: cv.Style}
	}
	f.Plot.Add(Layer(func(c draw.Canvas, p *plot.Plot) {
		layers{f.Under}.draw(c, p)
		over(f.Curves).draw(c, p)
		for i, cv := range f.Curves {
			labels[i].Y = extend(c, cv.Style, cv.Trace(c, p))
		}
		DrawLabels(c, c.Max.X, labels)
	}))
	Place(f.Plot, draw.Crop(c, 0, -LabelRoom(labels), 0, 0), f.XTitle, f.YTitle)
	DrawNotes(c, f.Notes)
	return nil
}

// extend draws a faint line from the end of pts to the right edge, and returns its height.
func extend(c draw.Canvas, as Style, pts []vg.Point) vg.Length {
	end := pts[len(pts)-1]
	if end.X < c.Max.X-1 {
		c.StrokeLine2(draw.LineStyle{Color: as.Hue.Alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, end.X, end.Y, c.Max.X, end.Y)
	}
	return end.Y
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

// Alone returns s for its own frame, where it needs no dash.
func (s Style) Alone() Style {
	s.Dash = nil
	if s.Hollow { // simulated lines stay dashed
		s.Dash, s.Marker = ModelDashes[0], ModelShapes[0]
	}
	return s
}

func panelRows(n int) int { return (n + panelColumns - 1) / panelColumns }

func (f Frames) panels(c draw.Canvas) error {
	c = draw.Crop(c, 0, 0, vg.Points(4), 0) // room for descenders
	top := c
	c.Max.Y -= f.legend()
	c.FillText(Typeset(9, Ink, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: c.Max.Y}, f.YTitle)
	panels := f.split()
	left := vg.Length(panelScale)
	rows := panelRows(len(panels))
	columns := vg.Length(min(panelColumns, len(panels)))
	wide := (c.Size().X - left - panelGap*(columns-1) - 4) / columns
	c.FillText(Typeset(9, Ink, draw.XCenter, draw.YBottom), vg.Point{X: c.Min.X + left + (c.Size().X-left)/2, Y: c.Min.Y}, f.XTitle)

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
	var traces [][]vg.Point
	if !f.Plain && len(panels) > 1 {
		for _, curves := range panels {
			traces = append(traces, Thin(curves[0].Trace(origin, f.Plot), 0.45))
		}
		f.Notes = append(slices.Clone(f.Notes), Note{Colour: Ghost, Line: true, Text: "the other locks"})
	}
	DrawNotes(top, f.Notes)
	for i, curves := range panels {
		b := box(i)
		layers{curves[0].Under, f.Under}.draw(b, f.Plot)
		f.axes(b, i%panelColumns == 0, i+panelColumns >= len(panels) || i/panelColumns == rows-1)
		ghosts(b, traces, i, vg.Point{X: b.Min.X - origin.Min.X, Y: b.Min.Y - origin.Min.Y})
		over(curves).draw(b, f.Plot)
		curves[0].head(b)
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

func (f Frames) axes(b draw.Canvas, scale, foot bool) {
	trX, _ := f.Plot.Transforms(&b)
	line := draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.75)}
	c := b
	c.StrokeLines(line, []vg.Point{{X: b.Min.X, Y: b.Max.Y}, b.Min, {X: b.Max.X, Y: b.Min.Y}})
	if scale {
		f.scale(b)
	}
	st := Typeset(8, Muted, draw.XCenter, draw.YTop)
	next := vg.Length(math.Inf(-1))
	for _, t := range f.Plot.X.Tick.Marker.Ticks(f.Plot.X.Min, f.Plot.X.Max) {
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

func (f Frames) scale(b draw.Canvas) {
	_, trY := f.Plot.Transforms(&b)
	st := Typeset(8, Muted, draw.XRight, draw.YCenter)
	var taken []vg.Length
	for _, tens := range []bool{true, false} {
		for _, t := range f.Plot.Y.Tick.Marker.Ticks(f.Plot.Y.Min, f.Plot.Y.Max) {
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

func (cv Curve) head(b draw.Canvas) {
	c := b
	name := Typeset(8.5, Ink, draw.XLeft, draw.YBottom)
	if cv.Style.Strong {
		name = Bold(name)
	}
	right := Typeset(7.5, Muted, draw.XRight, draw.YBottom)
	c.FillText(name, vg.Point{X: b.Min.X, Y: b.Max.Y + 5}, Shorten(name, cv.Frame, b.Size().X-right.Width(cv.Figure)-6))
	c.FillText(right, vg.Point{X: b.Max.X, Y: b.Max.Y + 5}, cv.Figure)
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

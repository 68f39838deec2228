package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Rows are named rows with marks and intervals on one scale, and columns of figures.
type Rows struct {
	Rows  []Row
	Scale Scaled
	Title string   // under the scale
	Heads []string // of the figures
	Notes []Note   // over the rows
	Foot  []string // sentences under the scale

	width vg.Length
}

// A Row is one line of Rows.
type Row struct {
	Tag     string // left of the name
	Name    string
	Style   Style
	Sign    draw.GlyphDrawer // left of the tag; may be nil
	Strong  bool             // bold figures
	Marks   []Mark
	Figures []string // right of the marks
}

// A Mark is a figure with its interval. It is NaN, or Text stands alone, if it is missing.
type Mark struct {
	Mid, Lo, Hi float64
	Shape       draw.GlyphDrawer // nil is a disc
	Radius      float64          // 0 is the default
	Hue         *Token           // nil is the hue of the row
	Text        string           // behind the mark
}

// Scaled is a scale. An interval that it cuts ends in an arrow.
type Scaled struct {
	Lo, Hi float64
	Log    bool
	Format func(v float64) string
	Band   [2]float64 // a shaded range; none if empty
}

const (
	rowStep  = vg.Length(14)
	markStep = vg.Length(6)
	rowsHead = vg.Length(36)
	rowsFoot = vg.Length(34) // the scale and its title
	footStep = vg.Length(10)

	// RowName is the width of the widest name.
	RowName = Width / 3

	// widerText is how much wider text in a reader's font may be than drawn.
	widerText = 1.15
)

// Fit sets the scale, from 0 if it is not logarithmic. An interval far beyond the figures ends
// at the frame.
func (r *Rows) Fit(log bool, format func(v float64) string) {
	var marks []Mark
	least, most := math.Inf(1), math.Inf(-1)
	for _, row := range r.Rows {
		for _, m := range row.Marks {
			if math.Abs(m.Mid) <= Beyond && (!log || m.Mid > 0) {
				marks, least, most = append(marks, m), min(least, m.Mid), max(most, m.Mid)
			}
		}
	}
	lo, hi, far := least, most, 4*max(-least, most)
	for _, m := range marks {
		if m.Lo >= -far && (!log || m.Lo >= least/4) {
			lo = min(lo, m.Lo)
		}
		if m.Hi <= far {
			hi = max(hi, m.Hi)
		}
	}
	r.Scale.Log, r.Scale.Format = log, format
	if log {
		r.Scale.Lo, r.Scale.Hi = LogRange(lo, hi)
		return
	}
	r.Scale.Lo, r.Scale.Hi = 1.04*min(lo, 0), 1.04*max(hi, 0)
	if r.Scale.Hi-r.Scale.Lo < 1e-300 {
		r.Scale.Hi = 1
	}
}

func (r *Rows) step() (step vg.Length) {
	step = rowStep
	for _, row := range r.Rows {
		step = max(step, markStep*vg.Length(len(row.Marks)-1)+8)
	}
	return step
}

func (r *Rows) foot() (lines []string) {
	for _, text := range r.Foot {
		lines = append(lines, wrap(Typeset(7.5, Muted, 0, 0), text, r.width)...)
	}
	return lines
}

func (r *Rows) title() []string { return wrap(Typeset(9, Ink, 0, 0), r.Title, r.width) }

// Drawn returns the rows as a drawing, and as a narrow one.
func (r *Rows) Drawn() Picture {
	pic, narrow := r.drawn(Width), r.narrow().drawn(NarrowWidth)
	pic.Narrow = &narrow
	return pic
}

func (r *Rows) drawn(width vg.Length) Picture {
	r.width = width
	below := footStep * vg.Length(len(r.foot())+len(r.title())-1)
	return Picture{Width: width, Height: rowsHead + r.step()*vg.Length(len(r.Rows)) + rowsFoot + below + 6, Body: r.body, Shape: Shape{Parts: len(r.Rows)}}
}

// narrow returns r with tags behind the marks, and with the first figure only.
func (r *Rows) narrow() *Rows {
	out := *r
	out.Heads, out.Rows = r.Heads[:min(1, len(r.Heads))], slices.Clone(r.Rows)
	for i, row := range out.Rows {
		row.Figures, row.Marks = row.Figures[:len(out.Heads)], slices.Clone(row.Marks)
		if len(row.Marks) == 1 {
			row.Marks[0].Text, row.Tag = row.Tag, ""
		}
		out.Rows[i] = row
	}
	return &out
}

func (r *Rows) widths() (tags, names vg.Length, figures []vg.Length) {
	st := bold8()
	for _, h := range r.Heads {
		figures = append(figures, widerText*st.Width(h)+12)
	}
	for _, row := range r.Rows {
		names = max(names, min(widerText*row.Style.RowName().Width(row.Name), RowName))
		if row.Tag != "" || row.Sign != nil {
			tags = max(tags, widerText*st.Width(row.Tag)+16)
		}
		for i, f := range row.Figures {
			figures[i] = max(figures[i], widerText*st.Width(f)+12)
		}
	}
	return tags, names, figures
}

func (r *Rows) body(c draw.Canvas) error {
	c = draw.Crop(c, 0, -6, 0, 0)
	y := c.Min.Y + footStep*vg.Length(len(r.foot()))
	for _, line := range r.foot() {
		c.FillText(Typeset(7.5, Muted, draw.XLeft, draw.YTop), vg.Point{X: c.Min.X, Y: y}, line)
		y -= footStep
	}
	DrawNotes(c, r.Notes)
	tags, names, figures := r.widths()
	b := c
	b.Min.X, b.Max.X = c.Min.X+tags+names+12, c.Max.X-8
	for _, w := range figures {
		b.Max.X -= w
	}
	b.Max.Y = c.Max.Y - rowsHead
	b.Min.Y = b.Max.Y - r.step()*vg.Length(len(r.Rows))
	for i, row := range r.Rows {
		y := r.middle(b, i)
		if i%2 == 0 {
			c.FillPolygon(Shade.RGBA(), Rect(c.Min.X, y-r.step()/2, c.Max.X, y+r.step()/2))
		}
		row.names(c, b.Min.X-8, y)
		row.figures(c, figures, b.Max.X+8, y)
	}
	x := b.Max.X + 8
	for i, w := range figures {
		x += w
		c.FillText(Typeset(8, Muted, draw.XRight, draw.YBottom), vg.Point{X: x, Y: b.Max.Y + 4}, r.Heads[i])
	}
	r.marks(b)
	for i, line := range r.title() {
		st := Typeset(9, Ink, draw.XCenter, draw.YTop)
		half := st.Width(line) / 2
		c.FillText(st, vg.Point{X: min(b.Center().X, c.Max.X-half), Y: b.Min.Y - 19 - footStep*vg.Length(i)}, line)
	}
	return nil
}

func (r *Rows) middle(b draw.Canvas, i int) vg.Length {
	return b.Max.Y - (vg.Length(i)+0.5)*r.step()
}

func (row Row) names(c draw.Canvas, right, y vg.Length) {
	st := Typeset(8, Muted, draw.XLeft, draw.YCenter)
	if row.Strong {
		st = bold8()
	}
	if row.Sign != nil {
		c.DrawGlyphNoClip(draw.GlyphStyle{Color: row.Style.Hue.RGBA(), Radius: 3.6, Shape: row.Sign}, vg.Point{X: c.Min.X + 5, Y: y})
	}
	c.FillText(st, vg.Point{X: c.Min.X + 12, Y: y + Lift}, row.Tag)
	c.FillText(row.Style.RowName(), vg.Point{X: right, Y: y + Lift}, Shorten(row.Style.RowName(), row.Name, RowName))
}

func (row Row) figures(c draw.Canvas, widths []vg.Length, x, y vg.Length) {
	st := boldIf(row.Strong, Typeset(8.5, Ink, draw.XRight, draw.YCenter))
	for i, f := range row.Figures {
		x += widths[i]
		c.FillText(st, vg.Point{X: x, Y: y + Lift}, f)
	}
}

func (r *Rows) marks(b draw.Canvas) {
	s := r.Scale
	p := newPlot(s.Lo, s.Hi, 0, 1)
	ticks := LinearTicks(s.Lo, s.Hi, s.Format)
	if s.Log {
		p.X.Scale, ticks = Warp(Logarithm), LogTicks(s.Lo, s.Hi, s.Format)
	}
	trX, _ := p.Transforms(&b)
	at := func(v float64) vg.Length {
		switch {
		case math.IsNaN(v) || s.Log && v <= 0:
			return b.Min.X
		case math.IsInf(v, 1):
			return b.Max.X
		}
		return max(b.Min.X, min(trX(v), b.Max.X))
	}
	if s.Band[0] < s.Band[1] {
		b.FillPolygon(Warm.RGBA(), Rect(at(s.Band[0]), b.Min.Y, at(s.Band[1]), b.Max.Y))
	}
	scaleUnder(b, p, ticks)
	for k, row := range r.Rows {
		for j, m := range row.Marks {
			m.draw(b, s, row.Style.Hue, at, r.middle(b, k)+markStep*(vg.Length(len(row.Marks)-1)/2-vg.Length(j)))
		}
	}
}

func (m Mark) draw(c draw.Canvas, s Scaled, hue Token, at func(v float64) vg.Length, y vg.Length) {
	if m.Hue != nil {
		hue = *m.Hue
	}
	if math.IsNaN(m.Mid) || s.Log && m.Mid <= 0 {
		c.FillText(Typeset(8.5, Muted, draw.XLeft, draw.YCenter), vg.Point{X: c.Min.X + 4, Y: y + Lift}, m.Text)
		return
	}
	line := draw.LineStyle{Color: hue.RGBA(), Width: vg.Points(1.3)}
	lo, mid, hi := at(m.Lo), at(m.Mid), at(m.Hi)
	if lo < hi {
		c.StrokeLine2(line, min(lo, mid), y, max(hi, mid), y)
	}
	if s.Log && lo <= c.Min.X {
		c.StrokeLines(line, []vg.Point{{X: lo + 4, Y: y - 2.5}, {X: lo, Y: y}, {X: lo + 4, Y: y + 2.5}})
	}
	if hi >= c.Max.X {
		c.StrokeLines(line, []vg.Point{{X: hi - 4, Y: y - 2.5}, {X: hi, Y: y}, {X: hi - 4, Y: y + 2.5}})
	}
	shape, radius := draw.GlyphDrawer(draw.CircleGlyph{}), vg.Length(2.6)
	if m.Shape != nil {
		shape = m.Shape
	}
	if m.Radius > 0 {
		radius = vg.Length(m.Radius)
	}
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: Paper.RGBA(), Radius: radius + 1, Shape: draw.CircleGlyph{}}, vg.Point{X: mid, Y: y})
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: hue.RGBA(), Radius: radius, Shape: shape}, vg.Point{X: mid, Y: y})
	if m.Text == "" {
		return
	}
	st, x := Typeset(8, Muted, draw.XLeft, draw.YCenter), max(hi, mid)+6
	if x+st.Width(m.Text)*widerText > c.Max.X+16 { // no room behind it
		st.XAlign, x = draw.XRight, min(lo, mid)-6
	}
	if st.XAlign == draw.XRight && x-st.Width(m.Text) < c.Min.X { // nor before it: over its interval
		st.XAlign, st.YAlign, x, y = draw.XLeft, draw.YBottom, c.Min.X+6, y+1-Lift
	}
	c.FillText(st, vg.Point{X: x, Y: y + Lift}, m.Text)
}

func scaleUnder(b draw.Canvas, p *plot.Plot, ticks plot.ConstantTicks) {
	trX, _ := p.Transforms(&b)
	st := Typeset(8, Muted, draw.XCenter, draw.YTop)
	extent := func(i int) (from, to float64) {
		x, half := float64(trX(ticks[i].Value)), float64(st.Width(ticks[i].Label))/2
		return x - half - 6, x + half + 6
	}
	for _, i := range spaced(len(ticks), func(i int) int { return tickRank(ticks[i]) }, extent) {
		x, half := trX(ticks[i].Value), st.Width(ticks[i].Label)/2
		b.StrokeLine2(draw.LineStyle{Color: Grid.RGBA(), Width: vg.Points(0.6)}, x, b.Min.Y, x, b.Max.Y)
		b.FillText(st, vg.Point{X: max(b.Min.X+half-8, min(x, b.Max.X-half+8)), Y: b.Min.Y - 5}, ticks[i].Label)
	}
	b.StrokeLine2(draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.75)}, b.Min.X, b.Min.Y, b.Max.X, b.Min.Y)
}

// A Star is a mark of five points.
type Star struct{}

// DrawGlyph draws the star.
func (Star) DrawGlyph(c *draw.Canvas, st draw.GlyphStyle, pt vg.Point) {
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

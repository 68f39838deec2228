package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A forest is an interval chart of effects around "no effect": one row per lock, one column
// per number of workers.
type forest struct {
	*sweep
	columns []int     // numbers of workers
	rows    []*series // greatest effect first
	effects [][]effect
	lo, hi  float64 // range of the ratios
}

// forestMarks are the marks of the settings in a row.
var forestMarks = []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.BoxGlyph{}, vgdraw.PyramidGlyph{}, vgdraw.RingGlyph{}, vgdraw.SquareGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.PlusGlyph{}}

const (
	forestHead = vg.Length(34) // legend and names of the columns
	forestFoot = vg.Length(34)
	forestGap  = vg.Length(16)
)

// newForest lays out the effects for the fewest workers, one worker per processor, and w.
func newForest(s *sweep, w int) *forest {
	f := &forest{sweep: s, lo: 1, hi: 1}
	for _, n := range s.workers {
		if n <= w && (n == s.workers[0] || n == w || !s.remote && n == s.cpus) {
			f.columns = append(f.columns, n)
		}
	}
	rank := make(map[*series]float64)
	for _, n := range f.columns {
		es := s.All(n)
		f.effects = append(f.effects, es)
		for _, e := range es {
			f.lo, f.hi = min(f.lo, e.Median), max(f.hi, e.Median)
			if _, seen := rank[e.S]; !seen {
				f.rows = append(f.rows, e.S)
				rank[e.S] = 1
			}
			if n == w && math.Abs(math.Log(e.Median)) > math.Abs(math.Log(rank[e.S])) {
				rank[e.S] = e.Median
			}
		}
	}
	f.widen()
	slices.SortStableFunc(f.rows, func(a, b *series) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), a.look.Compare(b.look))
	})
	return f
}

// widen extends the range to the intervals around the medians. An interval far wider than
// the medians ends at the frame, so that it does not compress the others.
func (f *forest) widen() {
	lo, hi := f.lo, f.hi
	for _, es := range f.effects {
		for _, e := range es {
			if e.Lo >= f.lo/4 {
				lo = min(lo, e.Lo)
			}
			if e.Hi <= f.hi*4 {
				hi = max(hi, e.Hi)
			}
		}
	}
	f.lo, f.hi = draw.LogRange(lo, hi)
}

func (f *forest) step() vg.Length { return max(14, 6*vg.Length(len(f.settings)-1)+5) }

func (f *forest) height() vg.Length {
	return vg.Length(len(f.rows))*f.step() + forestHead + forestFoot
}

func (f *forest) draw(c vgdraw.Canvas) {
	c = vgdraw.Crop(c, 0, -4, 4, 0) // room for descenders
	f.legend(c)
	var left vg.Length
	for _, s := range f.rows {
		left = max(left, min(s.look.RowName().Width(s.Lock.Name), draw.Width/4))
	}
	left += 10
	top := c.Max.Y - forestHead
	for r, s := range f.rows {
		y := top - (vg.Length(r)+0.5)*f.step()
		if r%2 == 0 {
			c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, y-f.step()/2, c.Max.X, y+f.step()/2))
		}
		c.FillText(s.look.RowName(), vg.Point{X: c.Min.X + left - 6, Y: y}, draw.Shorten(s.look.RowName(), s.Lock.Name, left-8))
	}
	n := vg.Length(len(f.columns))
	wide := (c.Size().X - left - forestGap*(n-1)) / n
	for i := range f.columns {
		b := c
		b.Min.X = c.Min.X + left + vg.Length(i)*(wide+forestGap)
		b.Max = vg.Point{X: b.Min.X + wide, Y: top}
		b.Min.Y = top - vg.Length(len(f.rows))*f.step()
		f.column(b, i)
	}
	c.FillText(draw.Typeset(9, draw.Ink, vgdraw.XCenter, vgdraw.YBottom), vg.Point{X: c.Min.X + left + (c.Size().X-left)/2, Y: c.Min.Y},
		cmp.Or(f.axis, fmt.Sprintf("rate with the setting ÷ rate with %s, in the same round", f.full(f.base)))+" (log scale)")
}

// legend draws the mark of each setting.
func (f *forest) legend(c vgdraw.Canvas) {
	st := draw.Typeset(8.5, draw.Ink, vgdraw.XLeft, vgdraw.YTop)
	x, y := c.Min.X, c.Max.Y
	k := 0
	for i := range f.settings {
		if i == f.base {
			continue
		}
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Muted.RGBA(), Radius: 2.8, Shape: forestMarks[k%len(forestMarks)]}, vg.Point{X: x + 4, Y: y - 6})
		c.FillText(st, vg.Point{X: x + 11, Y: y}, f.full(i))
		x += 11 + st.Width(f.full(i)) + 16
		k++
	}
}

// column draws column i into b.
func (f *forest) column(b vgdraw.Canvas, i int) {
	p := draw.NewPlot(f.lo, f.hi, 0, 1)
	p.X.Scale = draw.Warp(draw.Logarithm)
	trX, _ := p.Transforms(&b)
	c := b
	title := numfmt.Plural(f.columns[i], "worker")
	if !f.remote && f.cpus > 0 && f.columns[i] > f.cpus {
		title += fmt.Sprintf(" on %s", numfmt.Plural(f.cpus, "CPU"))
	}
	c.FillText(draw.Bold(draw.Typeset(8.5, draw.Ink, vgdraw.XCenter, vgdraw.YBottom)), vg.Point{X: b.Center().X, Y: b.Max.Y + 3}, title)
	f.grid(b, trX, draw.LogTicks(f.lo, f.hi, numfmt.Number))
	for r, s := range f.rows {
		y := b.Max.Y - (vg.Length(r)+0.5)*f.step()
		f.row(b, trX, y, slices.DeleteFunc(slices.Clone(f.effects[i]), func(e effect) bool { return e.S != s }))
	}
}

func (f *forest) grid(b vgdraw.Canvas, trX func(float64) vg.Length, ticks plot.ConstantTicks) {
	c := b
	st := draw.Typeset(8, draw.Muted, vgdraw.XCenter, vgdraw.YTop)
	var taken []vg.Length
	for rank := range 3 {
		for _, t := range ticks {
			label := numfmt.Number(t.Value) + "×"
			x, half := trX(t.Value), st.Width(label)/2+4
			near := func(at vg.Length) bool { return math.Abs(float64(at-x)) < float64(2*half) }
			if draw.TickRank(t.Value) != rank || rank == 2 && f.hi > 10*f.lo ||
				x-half < b.Min.X-forestGap/2 || x+half > b.Max.X+forestGap/2 || slices.ContainsFunc(taken, near) {
				continue
			}
			taken = append(taken, x)
			c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, x, b.Min.Y, x, b.Max.Y)
			c.FillText(st, vg.Point{X: x, Y: b.Min.Y - 4}, label)
		}
	}
	c.StrokeLine2(vgdraw.LineStyle{Color: draw.Ink.RGBA(), Width: vg.Points(0.8)}, trX(1), b.Min.Y, trX(1), b.Max.Y)
}

func (f *forest) row(b vgdraw.Canvas, trX func(float64) vg.Length, y vg.Length, es []effect) {
	c := b
	n := len(f.settings) - 1
	at := func(v float64) vg.Length {
		if math.IsNaN(v) {
			return b.Min.X
		}
		return max(b.Min.X, min(trX(v), b.Max.X))
	}
	for _, e := range es {
		k := e.setting
		if k > f.base {
			k--
		}
		y := y + (vg.Length(n-1)/2-vg.Length(k))*6
		hue, opacity := e.S.look.Hue, uint8(255)
		if !e.Apart() {
			opacity = 120
		}
		c.StrokeLine2(vgdraw.LineStyle{Color: hue.Alpha(opacity), Width: vg.Points(1.2)}, at(e.Lo), y, at(e.Hi), y)
		pt := vg.Point{X: at(e.Median), Y: y}
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: draw.Paper.RGBA(), Radius: 3.2, Shape: vgdraw.CircleGlyph{}}, pt)
		c.DrawGlyphNoClip(vgdraw.GlyphStyle{Color: hue.Alpha(opacity), Radius: 2.5, Shape: forestMarks[k%len(forestMarks)]}, pt)
	}
}

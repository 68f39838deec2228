package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/internal/numfmt"
)

// ShapeLocal and ShapeRemote draw the distribution of the waits as half-violins,
// at the greatest number of workers at which most locks were measured.
var (
	ShapeLocal = &Chart{
		Name:  "wait-shape",
		Title: "Is a wait of one kind, or of several?",
		Doc:   shapeDoc,
		once:  true,
		draw:  drawShape,
	}
	ShapeRemote = &Chart{
		Name:   "wait-shape-distributed",
		Title:  "Is a wait for a distributed lock of one kind, or of several?",
		Doc:    shapeDoc,
		Remote: true,
		once:   true,
		draw:   drawShape,
	}
)

const shapeDoc = "Sampled waits of all rounds together. Curve: the density over the logarithm of the wait, smoothed, its square root so that rare waits show; each row has its own height. Under it: bar from p25 to p75, line from p1 to p99 (or to the last quantile that the samples resolve), dot at the median. A mode is a peak that holds 3 % of the waits and beside which the density falls to half of it on both sides. Grey: the clock cannot tell such waits apart. Shortest median first."

// shapes returns those of the locks of g with w workers, shortest median first,
// and the names of the locks with too few samples.
func (g *group) shapes(w int) (out []*shape, few []string, scale shapeScale) {
	for _, s := range g.at(w) {
		if s.Lock.Status == harness.Control {
			continue
		}
		h := s.Cells[w].Waits()
		if n := h.Count(); n >= leastSamples {
			out = append(out, &shape{s: s, h: h, n: n})
		} else {
			few = append(few, s.Lock.Name)
		}
	}
	if len(out) == 0 {
		return nil, few, scale
	}
	scale = newShapeScale(out, g.Floor())
	for _, x := range out {
		x.measure(scale)
	}
	at := func(x *shape, q float64) float64 { return max(scale.floor, x.h.Quantile(q)) }
	slices.SortStableFunc(out, func(a, b *shape) int {
		return cmp.Or(cmp.Compare(at(a, 0.5), at(b, 0.5)), cmp.Compare(at(a, 0.9), at(b, 0.9)))
	})
	return out, few, scale
}

func drawShape(g *group) picture {
	w := g.Crowd()
	xs, few, scale := g.shapes(w)
	if len(xs) == 0 {
		return nothing("With %s, no lock has the %d samples of a wait that a shape needs.", g.unit(w), leastSamples)
	}
	return picture{
		answer:  shapeAnswer(g, w, xs, few),
		height:  vg.Length(len(xs))*shapeStep(len(xs)) + rowsFoot + 14,
		numbers: shapeTable(xs, scale),
		data:    g.fields("wait"),
		body: func(c draw.Canvas) error {
			shapeBody(c, g.unit(w), xs, scale)
			return nil
		},
	}
}

func shapeAnswer(g *group, w int, xs []*shape, few []string) string {
	var wide *shape // its kinds lie furthest apart
	ratio := func(x *shape) float64 { return x.modes[len(x.modes)-1].at / x.modes[0].at }
	several := 0
	for _, x := range xs {
		if len(x.modes) < 2 {
			continue
		}
		several++
		if wide == nil || ratio(x) > ratio(wide) {
			wide = x
		}
	}
	text := fmt.Sprintf("With %s, the waits of every lock are of one kind.", g.unit(w))
	if several > 0 {
		text = fmt.Sprintf("With %s, the waits of %d of %s are of more than one kind. Furthest apart are those of %s: %s.",
			g.unit(w), several, numfmt.Plural(len(xs), "lock"), wide.s.Lock.Name, wide.kinds())
	}
	if len(few) > 0 {
		text += fmt.Sprintf(" Too few samples: %s.", numfmt.List(few, 6))
	}
	return text
}

// kinds describes the modes of x: "84 % around 60 ns and 16 % around 9.2 µs".
func (x *shape) kinds() string {
	var parts []string
	for _, h := range x.modes {
		where := "around "
		if h.floor {
			where = "below "
		}
		parts = append(parts, numfmt.Percent(100*h.share)+" "+where+numfmt.Nanos(h.at))
	}
	return numfmt.List(parts, 4)
}

// shapeStep returns the height of a row of n.
func shapeStep(n int) vg.Length {
	if n > 12 {
		return 29
	}
	return 36
}

func shapeBody(c draw.Canvas, unit string, xs []*shape, scale shapeScale) {
	c = draw.Crop(c, 0, -14, 4, 0) // room for descenders and half a label
	var ss []*series
	for _, x := range xs {
		ss = append(ss, x.s)
	}
	step := shapeStep(len(xs))
	b := c
	b.Min.X += rowsLeft(ss)
	b.Min.Y += rowsFoot
	b.Max.Y -= 10
	if scale.floor > 0 {
		p := newPlot(scale.lo, scale.hi, 0, 1)
		p.X.Scale = warp(logarithm)
		trX, _ := p.Transforms(&b)
		c.FillPolygon(shade.rgba(), rect(b.Min.X, b.Min.Y, trX(scale.floor), b.Max.Y))
		st := typeset(7.5, muted, draw.XLeft, draw.YBottom)
		c.FillText(st, vg.Point{X: b.Min.X, Y: b.Max.Y + 2}, floorNote(scale.floor))
	}
	at := rowsScale(b, scale.lo, scale.hi, numfmt.Nanos, fmt.Sprintf("time from request to grant, %s (log scale)", unit))
	for i, x := range xs {
		base := b.Max.Y - vg.Length(i+1)*step + 11
		c.FillText(rowName(x.s), vg.Point{X: b.Min.X - 6, Y: base + 5}, shorten(rowName(x.s), x.s.Lock.Name, rowsName))
		x.draw(b, base, step-13, scale, at)
	}
}

// draw draws the curve on base, no higher than high, and the quantiles under it.
func (x *shape) draw(b draw.Canvas, base, high vg.Length, scale shapeScale, at func(float64) vg.Length) {
	c := b
	hue := x.s.look.hue
	// What is under the floor has the area that it would have, spread evenly.
	flat := 0.0
	if scale.floor > 0 {
		flat = x.under / max(1, scale.bin(scale.floor)+0.5)
	}
	top := flat
	for _, v := range x.density {
		top = max(top, v)
	}
	if !(top > 0) {
		return
	}
	y := func(v float64) vg.Length { return base + high*vg.Length(math.Sqrt(v/top)) }
	if flat > 0 {
		c.FillPolygon(hue.alpha(44), rect(b.Min.X, base, at(scale.floor), y(flat)))
		c.StrokeLine2(draw.LineStyle{Color: hue.rgba(), Width: vg.Points(1)}, b.Min.X, y(flat), at(scale.floor), y(flat))
	}
	from, to := 0, len(x.density)-1
	for from < to && x.density[from] <= top/1e5 {
		from++
	}
	for to > from && x.density[to] <= top/1e5 {
		to--
	}
	pts := []vg.Point{{X: at(scale.x(from)), Y: base}}
	for i := from; i <= to; i++ {
		pts = append(pts, vg.Point{X: at(scale.x(i)), Y: y(x.density[i])})
	}
	pts = thin(append(pts, vg.Point{X: at(scale.x(to)), Y: base}), 0.2)
	c.StrokeLine2(draw.LineStyle{Color: grid.rgba(), Width: vg.Points(0.6)}, b.Min.X, base, b.Max.X, base)
	if x.under < 1 {
		c.FillPolygon(hue.alpha(44), pts)
		c.StrokeLines(draw.LineStyle{Color: hue.rgba(), Width: vg.Points(1)}, pts)
	}
	x.box(b, base-5, scale, at)
}

// end returns the last quantile of 0.99, 0.9 and 0.5 that the samples resolve.
func (x *shape) end() float64 {
	for _, q := range []float64{0.99, 0.9} {
		if _, ok := metric.Quantile(x.h, q); ok {
			return q
		}
	}
	return 0.5
}

// box draws the quantiles around height y.
func (x *shape) box(b draw.Canvas, y vg.Length, scale shapeScale, at func(float64) vg.Length) {
	c := b
	hue := x.s.look.hue
	q := func(q float64) vg.Length {
		v := x.h.Quantile(q)
		if v < scale.floor {
			return (b.Min.X + at(scale.floor)) / 2
		}
		return at(v)
	}
	last := x.end()
	end := q(last)
	c.StrokeLine2(draw.LineStyle{Color: hue.rgba(), Width: vg.Points(0.9)}, q(0.01), y, end, y)
	c.StrokeLine2(draw.LineStyle{Color: hue.rgba(), Width: vg.Points(3.4)}, q(0.25), y, q(0.75), y)
	c.StrokeLine2(draw.LineStyle{Color: ink.rgba(), Width: vg.Points(1.2)}, end, y-3.5, end, y+3.5)
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: paper.rgba(), Radius: 3.1, Shape: draw.CircleGlyph{}}, vg.Point{X: q(0.5), Y: y})
	c.DrawGlyphNoClip(draw.GlyphStyle{Color: ink.rgba(), Radius: 2.2, Shape: draw.CircleGlyph{}}, vg.Point{X: q(0.5), Y: y})
	text := quantileName(last) + " " + quoted(x.h, last, scale.floor)
	st := typeset(7.5, muted, draw.XLeft, draw.YCenter)
	pt := vg.Point{X: end + 5, Y: y}
	if pt.X+st.Width(text) > b.Max.X+10 {
		st.XAlign = draw.XRight
		pt = vg.Point{X: q(0.01) - 5, Y: y}
	}
	c.FillText(st, pt, text)
}

func shapeTable(xs []*shape, scale shapeScale) table {
	t := table{head: titles("lock", "samples", "kinds", "where", "p1", "p25", "p50", "p75", "p99")}
	for _, x := range xs {
		row := []string{x.s.Lock.Name, strconv.FormatInt(x.n, 10), strconv.Itoa(len(x.modes)), x.kinds()}
		for _, q := range []float64{0.01, 0.25, 0.5, 0.75, 0.99} {
			row = append(row, quoted(x.h, q, scale.floor))
		}
		t.rows = append(t.rows, row)
	}
	return t
}

package reports

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	rowsFoot = vg.Length(34) // the scale and its title
	rowsName = width / 4     // the widest name
)

// rowsScale draws a log scale from lo to hi under b, with a title and a line through b at
// each label. It returns a function from figures to positions; figures beyond the scale are
// on the frame.
func rowsScale(b draw.Canvas, lo, hi float64, format func(float64) string, title string) func(v float64) vg.Length {
	p := newPlot(lo, hi, 0, 1)
	p.X.Scale = warp(logarithm)
	return rowsAxis(b, p, logTicks(lo, hi, format), title)
}

// rowsAxis is rowsScale for the x axis of p with its ticks.
func rowsAxis(b draw.Canvas, p *plot.Plot, ticks plot.ConstantTicks, title string) func(v float64) vg.Length {
	c := b
	trX, _ := p.Transforms(&b)
	st := typeset(8, muted, draw.XCenter, draw.YTop)
	type label struct{ from, to vg.Length }
	var taken []label
	for rank := range 3 { // powers of ten first, then others that fit
		for _, t := range ticks {
			if t.IsMinor() || tickRank(t.Value) != rank {
				continue
			}
			x, half := trX(t.Value), st.Width(t.Label)/2
			l := label{x - half - 6, x + half + 6}
			if slices.ContainsFunc(taken, func(o label) bool { return l.from < o.to && o.from < l.to }) {
				continue
			}
			taken = append(taken, l)
			c.StrokeLine2(draw.LineStyle{Color: grid.rgba(), Width: vg.Points(0.6)}, x, b.Min.Y, x, b.Max.Y)
			c.FillText(st, vg.Point{X: max(b.Min.X+half-8, min(x, b.Max.X-half+8)), Y: b.Min.Y - 5}, t.Label)
		}
	}
	c.StrokeLine2(draw.LineStyle{Color: axis.rgba(), Width: vg.Points(0.75)}, b.Min.X, b.Min.Y, b.Max.X, b.Min.Y)
	c.FillText(typeset(9, ink, draw.XCenter, draw.YTop), vg.Point{X: b.Center().X, Y: b.Min.Y - 19}, title)
	return func(v float64) vg.Length {
		if math.IsNaN(v) {
			return b.Min.X
		}
		return max(b.Min.X, min(trX(v), b.Max.X))
	}
}

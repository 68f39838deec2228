package draw

import (
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

const (
	RowsFoot = vg.Length(34) // the scale and its title
	RowsName = Width / 4     // the widest name
)

// RowsScale draws a log scale from lo to hi under b, with a title and a line through b at
// each label. It returns a function from figures to positions; figures beyond the scale are
// on the frame.
func RowsScale(b draw.Canvas, lo, hi float64, format func(float64) string, title string) func(v float64) vg.Length {
	p := NewPlot(lo, hi, 0, 1)
	p.X.Scale = Warp(Logarithm)
	return RowsAxis(b, p, LogTicks(lo, hi, format), title)
}

// RowsAxis is RowsScale for the x axis of p with its ticks.
func RowsAxis(b draw.Canvas, p *plot.Plot, ticks plot.ConstantTicks, title string) func(v float64) vg.Length {
	c := b
	trX, _ := p.Transforms(&b)
	st := Typeset(8, Muted, draw.XCenter, draw.YTop)
	type label struct{ from, to vg.Length }
	var taken []label
	for rank := range 3 { // powers of ten first, then others that fit
		for _, t := range ticks {
			if t.IsMinor() || TickRank(t.Value) != rank {
				continue
			}
			x, half := trX(t.Value), st.Width(t.Label)/2
			l := label{x - half - 6, x + half + 6}
			if slices.ContainsFunc(taken, func(o label) bool { return l.from < o.to && o.from < l.to }) {
				continue
			}
			taken = append(taken, l)
			c.StrokeLine2(draw.LineStyle{Color: Grid.RGBA(), Width: vg.Points(0.6)}, x, b.Min.Y, x, b.Max.Y)
			c.FillText(st, vg.Point{X: max(b.Min.X+half-8, min(x, b.Max.X-half+8)), Y: b.Min.Y - 5}, t.Label)
		}
	}
	c.StrokeLine2(draw.LineStyle{Color: Axis.RGBA(), Width: vg.Points(0.75)}, b.Min.X, b.Min.Y, b.Max.X, b.Min.Y)
	c.FillText(Typeset(9, Ink, draw.XCenter, draw.YTop), vg.Point{X: b.Center().X, Y: b.Min.Y - 19}, title)
	return func(v float64) vg.Length {
		if math.IsNaN(v) {
			return b.Min.X
		}
		return max(b.Min.X, min(trX(v), b.Max.X))
	}
}

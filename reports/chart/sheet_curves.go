package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

const (
	mostCurves    = 20
	longRange     = 8 // least ratio of X for a logarithmic axis
	curveNameRoom = vg.Length(150)
)

// A curveChart draws the columns of a table over the X of its rows.
type curveChart struct {
	sheet
	curves   []trace
	xs       []spot
	logX     bool
	log      bool
	xLo, xHi float64
	yLo, yHi float64
	nought   float64 // position of 0 on a log axis; 0 if there is none
}

// A spot is the position of a row and its label.
type spot struct {
	x    float64
	name string
}

// A trace is one column: runs of neighbouring rows that have a figure.
type trace struct {
	name string
	look draw.Look
	runs [][]tracePoint
}

type tracePoint struct {
	x float64
	reading
}

// last returns the point of the greatest X.
func (t trace) last() tracePoint {
	run := t.runs[len(t.runs)-1]
	return run[len(run)-1]
}

func drawCurves(s sheet) (Picture, string) {
	hidden := ""
	if n := len(s.drawn); n > mostCurves {
		s.drawn = s.drawn[:mostCurves]
		hidden = fmt.Sprintf(" The first %d of %d columns are drawn.", mostCurves, n)
	}
	l := &curveChart{sheet: s}
	rows, nowhere := l.ordered()
	rs := l.trace(rows)
	if len(rs) == 0 {
		return nothing("There is nothing to draw: no cell of this table has both a figure and a place on the axis."), ""
	}
	l.scale(rs)
	how := "Line: the figures."
	if m := sampled(rs); m != "" {
		how = "Line: " + m + "; band: from the least to the greatest of them."
	}
	if l.nought != 0 {
		how += " A logarithmic scale has no place for 0; here it lies under the axis."
	}
	if len(nowhere) > 0 {
		how += " Only in the table: " + numfmt.List(nowhere, 4) + "."
	}
	return Picture{Picture: draw.Picture{Height: max(280, vg.Length(len(l.curves))*draw.LabelGap+60), Body: l.body}}, how + hidden
}

// ordered returns the rows with a position, by rising X, and the names of the others.
func (l *curveChart) ordered() (rows []int, nowhere []string) {
	for i, r := range l.Rows {
		switch a := math.Abs(r.X); {
		case a > 0 && a <= draw.Beyond:
			rows = append(rows, i)
		default:
			nowhere = append(nowhere, l.names[i])
		}
	}
	slices.SortStableFunc(rows, func(a, b int) int { return cmp.Compare(l.Rows[a].X, l.Rows[b].X) })
	return rows, nowhere
}

// trace reads the curves and returns all their figures.
func (l *curveChart) trace(rows []int) (all []reading) {
	seen := make(map[float64]bool)
	for k, j := range l.drawn {
		t := trace{name: l.Columns[j].Name, look: ColumnLook(k)}
		var run []tracePoint
		for _, i := range rows {
			r, ok := l.read(i, j)
			if !ok {
				t.runs, run = append(t.runs, run), nil
				continue
			}
			x := l.Rows[i].X
			run, all = append(run, tracePoint{x, r}), append(all, r)
			if !seen[x] {
				seen[x] = true
				l.xs = append(l.xs, spot{x, cmp.Or(l.Rows[i].Label, numfmt.Number(x))})
			}
		}
		t.runs = slices.DeleteFunc(append(t.runs, run), func(r []tracePoint) bool { return len(r) == 0 })
		if len(t.runs) > 0 {
			l.curves = append(l.curves, t)
		}
	}
	slices.SortFunc(l.xs, func(a, b spot) int { return cmp.Compare(a.x, b.x) })
	return all
}

func (l *curveChart) scale(rs []reading) {
	l.xLo, l.xHi = l.xs[0].x, l.xs[len(l.xs)-1].x
	l.logX = l.xLo > 0 && l.xHi/l.xLo > longRange
	if l.xLo == l.xHi {
		l.xLo, l.xHi = l.xLo-math.Abs(l.xLo)/2, l.xHi+math.Abs(l.xHi)/2
	}
	if lo, hi, ok := span(rs, true); l.Log && ok {
		l.log = true
		l.yLo, l.yHi = draw.LogRange(lo, hi)
		if slices.ContainsFunc(rs, func(r reading) bool { return r.mid <= 0 }) {
			l.nought = l.yLo
			l.yLo = math.Max(l.yLo/math.Pow(l.yHi/l.yLo, 0.1), 1/(draw.Beyond*1e6))
			l.nought, l.yLo = l.yLo, math.Max(l.yLo/math.Pow(l.nought/l.yLo, 0.4), 1/(draw.Beyond*1e8))
		}
		return
	}
	lo, hi, _ := span(rs, false)
	l.yLo, l.yHi = min(lo, 0), max(hi, 0)
	if l.yLo == l.yHi {
		l.yHi = 1
	}
	pad := (l.yHi - l.yLo) * 0.04
	if l.yLo < 0 {
		l.yLo -= pad
	}
	l.yHi += pad
}

func (l *curveChart) body(c vgdraw.Canvas) error {
	p := draw.NewPlot(l.xLo, l.xHi, l.yLo, l.yHi)
	write, _ := ticked(l.unit)
	p.Y.Tick.Marker = draw.LinearTicks(l.yLo, l.yHi, write)
	if l.log {
		p.Y.Scale, p.Y.Tick.Marker = draw.Warp(draw.Logarithm), l.logTicks(write)
	}
	labels := make([]draw.EndLabel, len(l.curves))
	st := draw.Bold(draw.Typeset(draw.LabelSize, draw.Ink, 0, 0))
	for i, t := range l.curves {
		labels[i] = draw.EndLabel{Text: draw.Shorten(st, t.name, curveNameRoom) + draw.LabelSep + write(t.last().mid), Look: t.look}
	}
	room := draw.LabelRoom(labels)
	xTitle := l.Label
	if l.logX {
		p.X.Scale = draw.Warp(draw.Logarithm)
		xTitle = strings.TrimSpace(xTitle + " (log scale)")
	}
	p.X.Tick.Marker = l.xTicks(c.Size().X - room - 60)
	p.Add(draw.Gridlines(false), draw.Layer(func(c vgdraw.Canvas, p *plot.Plot) {
		l.drawCurves(c, p, labels)
		draw.DrawLabels(c, c.Max.X, labels)
	}))
	draw.Place(p, vgdraw.Crop(c, 0, -room, 0, 0), xTitle, l.axisTitle(l.log))
	return nil
}

// LogTicks returns the ticks of a log y axis, with one for 0 if it is drawn.
func (l *curveChart) logTicks(write func(float64) string) (ticks plot.ConstantTicks) {
	if l.nought == 0 {
		return draw.LogTicks(l.yLo, l.yHi, write)
	}
	foot := l.nought * math.Pow(l.nought/l.yLo, 0.7)
	for _, t := range draw.LogTicks(l.yLo, l.yHi, write) {
		if t.Value > foot {
			ticks = append(ticks, t)
		}
	}
	return append(ticks, plot.Tick{Value: l.nought, Label: "0"})
}

// xTicks labels the rows on an axis of width w. If labels would overlap it keeps the ends
// of the axis, and then the powers of two.
func (l *curveChart) xTicks(w vg.Length) (ticks plot.ConstantTicks) {
	st := draw.Typeset(9, draw.Muted, 0, 0)
	at := func(x float64) vg.Length {
		if l.logX {
			return vg.Length(draw.Warp(draw.Logarithm).Normalize(l.xLo, l.xHi, x)) * w
		}
		return vg.Length((x-l.xLo)/(l.xHi-l.xLo)) * w
	}
	rank := func(i int) int {
		fraction, _ := math.Frexp(l.xs[i].x)
		switch {
		case i == 0 || i == len(l.xs)-1:
			return 0
		case fraction == 0.5:
			return 1
		}
		return 2
	}
	order := make([]int, len(l.xs))
	for i, x := range l.xs {
		order[i] = i
		l.xs[i].name = draw.Shorten(st, x.name, 64)
		ticks = append(ticks, plot.Tick{Value: x.x})
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(rank(a), rank(b)) })
	var taken []int
	for _, i := range order {
		if !slices.ContainsFunc(taken, func(j int) bool {
			return math.Abs(float64(at(l.xs[i].x)-at(l.xs[j].x))) < float64(st.Width(l.xs[i].name)+st.Width(l.xs[j].name))/2+6
		}) {
			taken = append(taken, i)
			ticks[i].Label = l.xs[i].name
		}
	}
	return ticks
}

// drawCurves draws bands first, lines next and markers last, and sets the height of each
// label.
func (l *curveChart) drawCurves(c vgdraw.Canvas, p *plot.Plot, labels []draw.EndLabel) {
	trX, trY := p.Transforms(&c)
	y := func(v float64) vg.Length {
		switch {
		case l.log && v <= 0:
			v = cmp.Or(l.nought, l.yLo)
		case math.IsInf(v, 1):
			return c.Max.Y
		case math.IsInf(v, -1):
			return c.Min.Y
		}
		return max(c.Min.Y, min(trY(v), c.Max.Y))
	}
	l.drawBands(c, trX, y)
	for i, t := range l.curves {
		for _, run := range t.runs {
			var pts []vg.Point
			for _, pt := range run {
				pts = append(pts, vg.Point{X: trX(pt.x), Y: y(pt.mid)})
			}
			c.StrokeLines(t.look.Line(), pts)
		}
		end := t.last()
		labels[i].Y = y(end.mid)
		if x := trX(end.x); x < c.Max.X-1 { // the column has no figure in the last row
			c.StrokeLine2(vgdraw.LineStyle{Color: t.look.Hue.Alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, x, labels[i].Y, c.Max.X, labels[i].Y)
		}
	}
	for _, t := range l.curves {
		for _, run := range t.runs {
			for _, pt := range run {
				t.look.Mark(c, vg.Point{X: trX(pt.x), Y: y(pt.mid)})
			}
		}
	}
}

func (l *curveChart) drawBands(c vgdraw.Canvas, trX, y func(float64) vg.Length) {
	opacity := uint8(max(16, 90/(len(l.curves)+1))) // many bands lie over each other
	for _, t := range l.curves {
		for _, run := range t.runs {
			var band []vg.Point
			for _, pt := range run {
				band = append(band, vg.Point{X: trX(pt.x), Y: y(pt.hi)})
			}
			for _, pt := range slices.Backward(run) {
				band = append(band, vg.Point{X: trX(pt.x), Y: y(pt.lo)})
			}
			if len(run) == 1 { // a band of one point has no width
				c.StrokeLine2(vgdraw.LineStyle{Color: t.look.Hue.RGBA(), Width: vg.Points(1)}, band[0].X, band[0].Y, band[1].X, band[1].Y)
			} else {
				c.FillPolygon(t.look.Hue.Alpha(opacity), band)
			}
		}
	}
}

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// WaitLocal and WaitRemote draw the wait of an acquisition: all quantiles at high contention.
var WaitLocal, WaitRemote = both(Chart{
	Name:    "wait",
	Carries: true,
	Title:   "How long can one acquisition take?",
	Doc:     waitDoc,
	Draw:    DrawWait,
}, "How long can one acquisition of a distributed lock take?")

const waitDoc = "Sampled waits of all rounds together; markers at 50, 90, 99 and 99.9 %. Thin and grey: fewer than ten samples lie above, so the run does not resolve it. Grey floor: the clock cannot tell such times apart."

// marked are the quantiles with a marker and a column in the table.
var marked = []float64{0.5, 0.9, 0.99, 0.999}

type curve struct {
	s *series
	h harness.Histogram
	n int64
}

func DrawWait(g *Group) Picture {
	w := g.Crowd()
	var curves []curve
	for _, s := range g.at(w) {
		if h := s.Cells[w].Waits(); h.Count() > 0 {
			curves = append(curves, curve{s, h, h.Count()})
		}
	}
	if len(curves) == 0 {
		return nothing("No wait was timed with %s.", g.unit(w))
	}
	return Picture{
		Answer:  waitAnswer(g, w, curves),
		Picture: waitFrames(g, curves),
		Numbers: waitTable(g),
		Data:    g.fields("wait"),
	}
}

// shared returns the greatest useful quantile that every curve resolves, and true. If there
// is none it returns the median, which some curves resolve, and false.
func shared(curves []curve) (q float64, all bool) {
	least := 1.0
	for _, c := range curves {
		least = min(least, result.Resolved(c.n))
	}
	for _, q := range []float64{0.99, 0.9, 0.5} {
		if q <= least {
			return q, true
		}
	}
	return 0.5, false
}

func waitAnswer(g *Group, w int, curves []curve) string {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c curve) bool { return c.s.Lock.Status == harness.Control })
	floor := g.Floor()
	whole := 0 // locks that ran, whether they were timed or not
	for _, s := range g.at(w) {
		if s.Lock.Status != harness.Control {
			whole++
		}
	}
	q, all := shared(curves)
	of := ""
	if !all || len(curves) < whole {
		curves = slices.DeleteFunc(curves, func(c curve) bool { _, ok := result.Quantile(c.h, q); return !ok })
		of = fmt.Sprintf(" (of the %d of %d locks with enough samples)", len(curves), whole)
	}
	if len(curves) == 0 {
		return fmt.Sprintf("With %s, too few waits were timed to quote a quantile.", g.unit(w))
	}
	at := func(c curve) float64 { return max(floor, c.h.Quantile(q)) }
	slices.SortStableFunc(curves, func(a, b curve) int { return cmp.Compare(at(a), at(b)) })
	least, most := curves[0], curves[len(curves)-1]
	switch {
	case len(curves) == 1:
		return fmt.Sprintf("With %s, %s of %s is %s%s.", g.unit(w), quantileName(q), least.s.Lock.Name, quoted(least.h, q, floor), of)
	case at(least) == at(most):
		return fmt.Sprintf("With %s, %s is %s for every lock%s.", g.unit(w), quantileName(q), quoted(least.h, q, floor), of)
	}
	ratio := numfmt.Times(at(most) / at(least))
	if least.h.Quantile(q) < floor {
		ratio = "more than " + ratio
	}
	return fmt.Sprintf("With %s, %s is lowest for %s (%s) and highest for %s (%s): %s as long%s.", g.unit(w), quantileName(q),
		least.s.Lock.Name, quoted(least.h, q, floor), most.s.Lock.Name, quoted(most.h, q, floor), ratio, of)
}

func waitRange(curves []curve, floor float64) (qMax, lo, hi float64) {
	qMax, lo, hi = 0.99, math.Inf(1), 1
	for _, c := range curves {
		qMax = max(qMax, 1-1/float64(c.n))
		lo = min(lo, max(1, c.h.Quantile(0)))
		hi = max(hi, c.h.Quantile(1))
	}
	if lo < floor { // show the floor, not the values below it
		_, hi = draw.LogRange(floor, max(hi, 2*floor))
		return min(qMax, 0.99999), floor / 5, hi
	}
	lo, hi = draw.LogRange(lo, hi)
	return min(qMax, 0.99999), lo, hi
}

func waitAxes(curves []curve, floor float64) *plot.Plot {
	qMax, lo, hi := waitRange(curves, floor)
	p := draw.NewPlot(0, qMax, lo, hi)
	p.X.Scale, p.Y.Scale = draw.Warp(draw.Tail), draw.Warp(draw.Logarithm)
	p.Y.Tick.Marker = draw.LogTicks(lo, hi, numfmt.Nanos)
	var xs plot.ConstantTicks
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
		if q <= qMax {
			xs = append(xs, plot.Tick{Value: q, Label: strconv.FormatFloat(math.Round(q*1e5)/1e3, 'f', -1, 64) + " %"})
		}
	}
	p.X.Tick.Marker = xs
	return p
}

func waitFrames(g *Group, curves []curve) draw.Picture {
	floor := g.Floor()
	q, _ := shared(curves)
	f := draw.Frames{Plot: waitAxes(curves, floor), XTitle: "share of the acquisitions that waited no longer (log scale of the rest)",
		YTitle: fmt.Sprintf("time from request to grant, %s (log scale)", g.unit(g.Crowd())),
		Under:  func(c vgdraw.Canvas, p *plot.Plot) { floorZone(c, p, floor) }}
	if floor > f.Plot.Y.Min {
		f.Notes = append(f.Notes, draw.Note{Colour: draw.Shade, Text: fmt.Sprintf("≤ %s: below the resolution of the clock", numfmt.Nanos(floor))})
	}
	for _, cv := range curves {
		look := cv.s.look
		if draw.Apart(len(curves)) {
			look = look.Alone()
		}
		f.Curves = append(f.Curves, draw.Curve{Frame: cv.s.Lock.Name, Name: cv.s.Lock.Name, Look: look, Figure: quantileName(q) + " " + quoted(cv.h, q, floor),
			Trace: func(c vgdraw.Canvas, p *plot.Plot) []vg.Point {
				sure, rest := cv.path(c, p, floor)
				return append(sure, rest...)
			},
			Line: func(c vgdraw.Canvas, p *plot.Plot) {
				sure, rest := cv.path(c, p, floor)
				c.StrokeLines(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.8)}, rest)
				c.StrokeLines(look.Line(), sure)
			},
			Marks: func(c vgdraw.Canvas, p *plot.Plot) {
				trX, trY := p.Transforms(&c)
				for _, q := range marked {
					if v, ok := result.Quantile(cv.h, q); ok && q <= p.X.Max {
						look.Mark(c, vg.Point{X: trX(q), Y: Height(c, trY, v, floor)})
					}
				}
			}})
	}
	return f.Drawn()
}

func floorZone(c vgdraw.Canvas, p *plot.Plot, floor float64) {
	if floor > p.Y.Min {
		_, trY := p.Transforms(&c)
		c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, c.Min.Y, c.Max.X, min(trY(floor), c.Max.Y)))
	}
	draw.Gridlines(true)(c, p)
}

func quantileName(q float64) string { return fmt.Sprintf("p%g", 100*q) }

// quoted formats quantile q of h: "≤ floor" if it is unresolved, a dash without enough samples.
func quoted(h harness.Histogram, q, floor float64) string {
	switch f := judge.Quantile(h, q, floor); {
	case f == nil:
		return numfmt.Unknown
	case f.AtMost:
		return "≤ " + numfmt.Nanos(f.Value)
	default:
		return numfmt.Nanos(f.Value)
	}
}

func (cv curve) path(c vgdraw.Canvas, p *plot.Plot, floor float64) (sure, rest []vg.Point) {
	trX, trY := p.Transforms(&c)
	resolved, last := result.Resolved(cv.n), 1-1/float64(cv.n)
	at := func(q float64) vg.Point {
		return vg.Point{X: trX(min(q, p.X.Max)), Y: Height(c, trY, cv.h.Quantile(q), floor)}
	}
	for e := 0.0; ; e += 0.02 {
		q := 1 - math.Pow(10, -e)
		if q >= min(last, p.X.Max) {
			break
		}
		switch pt := at(q); {
		case q <= resolved:
			sure = appendStep(sure, pt)
		default:
			rest = appendStep(rest, pt)
		}
	}
	end := at(min(last, p.X.Max))
	switch {
	case last <= resolved || p.X.Max <= resolved:
		sure = append(sure, end)
	default:
		if len(sure) > 0 {
			rest = append([]vg.Point{sure[len(sure)-1]}, rest...)
		}
		rest = append(rest, end)
	}
	return sure, rest
}

// Height returns the y coordinate of a wait v. All waits below the floor share one.
func Height(c vgdraw.Canvas, trY func(float64) vg.Length, v, floor float64) vg.Length {
	if v < floor {
		return c.Min.Y + 5
	}
	return max(c.Min.Y, min(trY(v), c.Max.Y))
}

func appendStep(pts []vg.Point, pt vg.Point) []vg.Point {
	if n := len(pts); n > 1 && pts[n-1].Y == pt.Y && pts[n-2].Y == pt.Y {
		pts[n-1] = pt
		return pts
	}
	return append(pts, pt)
}

func waitTable(g *Group) Table {
	columns := []column{{Piece{Text: "samples"}, func(_ *series, c *Cell) string { return strconv.FormatInt(c.Waits().Count(), 10) }}}
	for _, q := range marked {
		columns = append(columns, column{Piece{Text: quantileName(q)}, func(_ *series, c *Cell) string { return quoted(c.Waits(), q, g.Floor()) }})
	}
	return g.table(nil, columns, inUnits(g.inTrips(result.P50RoundTrips, result.P99RoundTrips)...)) // medians of the rounds, each by its own
}

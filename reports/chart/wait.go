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

const waitDoc = "Sampled waits of all rounds together; markers at 50, 90, 99 and 99.9 %. A line ends where fewer than ten samples lie above: the run does not resolve the rest. Grey floor: the clock cannot tell such times apart."

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

// waitAnswer compares the greatest quantile that all locks resolve, or else the median,
// of the locks that resolve it.
func waitAnswer(g *Group, w int, curves []curve) string {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c curve) bool { return c.s.Lock.Status == harness.Control })
	whole := len(g.compared().at(w)) // timed or not
	floor := g.Floor()
	q, _ := shared(curves)
	var fs []figure
	for _, c := range curves {
		if v, ok := result.Quantile(c.h, q); ok {
			if v < floor {
				v = 0 // it has no ratio
			}
			fs = append(fs, figure{c.s.Lock.Name, v})
		}
	}
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, too few waits were timed to quote a quantile.", g.unit(w))
	}
	slices.SortStableFunc(fs, func(a, b figure) int { return cmp.Compare(b.v, a.v) })
	of := ""
	if len(fs) < whole {
		of = fmt.Sprintf(" (of the %d of %d locks with enough samples)", len(fs), whole)
	}
	format := func(v float64) string {
		if v < floor {
			return "≤ " + numfmt.Nanos(floor)
		}
		return numfmt.Nanos(v)
	}
	if fs[0].v == 0 {
		return fmt.Sprintf("With %s, %s is %s for every lock%s.", g.unit(w), quantileName(q), format(0), of)
	}
	return fmt.Sprintf("With %s, %s%s.", g.unit(w), extremes(fs, "the longest "+quantileName(q)+" wait", "the shortest", format), of)
}

func waitRange(curves []curve, floor float64) (qMax, lo, hi float64) {
	qMax, lo, hi = 0.99, math.Inf(1), 1
	for _, c := range curves {
		qMax = max(qMax, result.Resolved(c.n))
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
		style := cv.s.style
		if draw.Apart(len(curves)) {
			style = style.Alone()
		}
		f.Curves = append(f.Curves, draw.Curve{Frame: cv.s.Lock.Name, Name: cv.s.Lock.Name, Style: style, Figure: quantileName(q) + " " + quoted(cv.h, q, floor),
			Trace: func(c vgdraw.Canvas, p *plot.Plot) []vg.Point { return cv.path(c, p, floor) },
			Line:  func(c vgdraw.Canvas, p *plot.Plot) { c.StrokeLines(style.Line(), cv.path(c, p, floor)) },
			Marks: func(c vgdraw.Canvas, p *plot.Plot) {
				trX, trY := p.Transforms(&c)
				for _, q := range marked {
					if v, ok := result.Quantile(cv.h, q); ok && q <= p.X.Max {
						style.Mark(c, vg.Point{X: trX(q), Y: Height(c, trY, v, floor)})
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

// path returns the resolved part of the curve.
func (cv curve) path(c vgdraw.Canvas, p *plot.Plot, floor float64) (pts []vg.Point) {
	trX, trY := p.Transforms(&c)
	at := func(q float64) vg.Point {
		return vg.Point{X: trX(q), Y: Height(c, trY, cv.h.Quantile(q), floor)}
	}
	last := max(0, min(result.Resolved(cv.n), p.X.Max))
	for e := 0.0; ; e += 0.02 {
		q := 1 - math.Pow(10, -e)
		if q >= last {
			return append(pts, at(last))
		}
		pts = appendStep(pts, at(q))
	}
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

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// WaitLocal and WaitRemote draw the wait at a random moment: all quantiles at high contention.
var WaitLocal, WaitRemote = both(Chart{
	Name:  "wait",
	Title: "How long does a worker wait at a random moment?",
	Doc:   waitDoc,
	Draw:  DrawWait,
	Guard: few(2, "lock"),
}, "How long does a worker wait for a distributed lock at a random moment?")

const waitDoc = "Waits count by their length, so a lock that one worker keeps does not hide the others' waits. Sampled waits of all rounds together; markers at the shares on the axis. A line ends where the ten longest samples are the rest: the run does not resolve it, and ~ marks a quantile there. Triangle: the longest wait. Grey floor: times below the resolution of the clock."

// tabled are the quantiles with a column in the table.
var tabled = []float64{0.5, 0.9, 0.99, 0.999}

type curve struct {
	s *judge.Series
	h result.Histogram
}

func DrawWait(g *Group) Picture {
	w := g.MostWorkers()
	var curves []curve
	for _, s := range g.At(w) {
		if h := s.Cells[w].Waits(); h.Count() > 0 {
			curves = append(curves, curve{s, h})
		}
	}
	if len(curves) == 0 {
		return nothing("No wait was timed with %s.", g.unit(w))
	}
	return Picture{
		Answer:  waitAnswer(g, w, curves),
		Picture: waitLines(g, curves).Drawn(),
		Numbers: waitTable(g),
		Data:    Source{Metrics: []*result.Metric{result.Unserved}, Fields: []string{"wait"}, Rounds: []int{roundsOf(g)}},
	}
}

// shared returns the greatest useful quantile that every curve resolves, or else the median.
func shared(curves []curve) float64 {
	least := 1.0
	for _, c := range curves {
		least = min(least, result.Resolved(c.h.Count()))
	}
	for _, q := range []float64{0.99, 0.9} {
		if q <= least {
			return q
		}
	}
	return 0.5
}

// waitAnswer compares the greatest quantile that all locks resolve, or else the median,
// of the locks that resolve it.
func waitAnswer(g *Group, w int, curves []curve) string {
	curves = slices.DeleteFunc(slices.Clone(curves), func(c curve) bool { return !c.s.Lock.Status.Competes() })
	whole := len(slices.DeleteFunc(g.At(w), func(s *judge.Series) bool { return !s.Lock.Status.Competes() })) // timed or not
	floor := g.Floor()
	q := shared(curves)
	var fs []figure
	for _, c := range curves {
		m := judge.Moment(c.h, q, floor)
		if m == nil {
			continue
		}
		f := figure{name: c.s.Lock.Name, v: m.Value, rough: m.Rough && !m.AtMost}
		if m.AtMost {
			f.v = 0 // it has no ratio
		}
		if longest := judge.Longest(c.s.Cells[w]); longest != nil {
			f.longest = longest.Value
		}
		fs = append(fs, f)
	}
	if len(fs) == 0 {
		return fmt.Sprintf("With %s, too few waits were timed to quote a quantile.", g.unit(w))
	}
	sortFigures(fs)
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
		return fmt.Sprintf("With %s, the %s wait at a random moment is %s for every lock%s.", g.unit(w), quantileName(q), fs[0].text(format), of)
	}
	return fmt.Sprintf("With %s, %s%s.", g.unit(w), extremes(fs, "the longest "+quantileName(q)+" wait at a random moment", "the shortest", format), of)
}

// waitLines draws the quantiles of curves over time, and their longest waits. Waits below the
// floor of the clock lie on it.
func waitLines(g *Group, curves []curve) *draw.Lines {
	floor, least, most := g.Floor(), math.Inf(1), 0.0
	for _, cv := range curves {
		least, most = min(least, cv.h.Quantile(0)), max(most, cv.h.ResolvedTime())
	}
	q := shared(curves)
	l := &draw.Lines{XTitle: "share of all waiting that is in waits no longer than this (log scale of the rest)", XScale: draw.Tail, Stops: quantileStops(most),
		Y: draw.LogScale, YTitle: fmt.Sprintf("wait that a worker is in at a random moment, %s (log scale)", g.unit(g.MostWorkers())), Format: numfmt.Nanos}
	longest := len(l.Stops)
	l.Stops = append(l.Stops, draw.Stop{At: 1 - (1-most)/4, Label: "longest"})
	l.End = func(lock string) string {
		i := slices.IndexFunc(curves, func(cv curve) bool { return cv.s.Lock.Name == lock })
		return quantileName(q) + " " + FigureText(judge.Moment(curves[i].h, q, floor), numfmt.Nanos)
	}
	if least < floor {
		l.Notes = []draw.Note{{Colour: draw.Shade, Text: fmt.Sprintf("≤ %s: below the resolution of the clock", numfmt.Nanos(floor))}}
		l.Under = func(c vgdraw.Canvas, p *plot.Plot, _ string) {
			_, trY := p.Transforms(&c)
			c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, c.Min.Y, c.Max.X, min(trY(floor), c.Max.Y)))
		}
	}
	for _, cv := range curves {
		l.Add(cv.s.Lock.Name, styleOf(cv.s.Lock), func(i int) stat.Summary {
			q := l.Stops[i].At
			if i == longest || q > cv.h.ResolvedTime() {
				return stat.Summary{}
			}
			v := max(cv.h.TimeQuantile(q), floor, 1)
			return stat.Summary{Median: v, Lo: v, Hi: v, N: 1}
		})
		f := judge.Longest(cv.s.Cells[g.MostWorkers()])
		style := styleOf(cv.s.Lock)
		style.Marker = vgdraw.PyramidGlyph{}
		l.Add(cv.s.Lock.Name, style, func(i int) stat.Summary {
			if i < longest || f == nil {
				return stat.Summary{}
			}
			return stat.Summary{Median: f.Value, Lo: f.Value, Hi: f.Value, N: 1}
		})
	}
	return l
}

// quantileStops returns stops up to the quantile most: 50 to a power of ten of the rest.
func quantileStops(most float64) (stops []draw.Stop) {
	const decades, steps = 5, 50
	for e := range decades*steps + 1 {
		stops = append(stops, draw.Stop{At: 1 - math.Pow(10, -float64(e)/steps)})
	}
	for _, q := range []float64{0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999} {
		stops = append(stops, draw.Stop{At: q, Label: strconv.FormatFloat(math.Round(q*1e5)/1e3, 'f', -1, 64) + " %"})
	}
	slices.SortStableFunc(stops, func(a, b draw.Stop) int { return cmp.Compare(a.At, b.At) })
	return slices.DeleteFunc(stops, func(s draw.Stop) bool { return s.At > max(most, 0) })
}

func quantileName(q float64) string { return fmt.Sprintf("p%g", 100*q) }

// quoted counts each acquisition once.
func quoted(h result.Histogram, q, floor float64) string {
	return FigureText(judge.Quantile(h, q, floor), numfmt.Nanos)
}

// FigureText formats f: "≤ floor" if the clock does not resolve it, "~" if it is rough, a
// dash if it is missing.
func FigureText(f *judge.Figure, format func(v float64) string) string {
	switch {
	case f == nil:
		return numfmt.Unknown
	case f.AtMost:
		return "≤ " + format(f.Value)
	case f.Rough:
		return "~" + format(f.Value)
	}
	return format(f.Value)
}

// momentText and longestText are the waits as a request sees them.
func (g *Group) momentText(_ *judge.Series, c *Cell) string {
	return FigureText(judge.Moment(c.Waits(), 0.99, g.Floor()), numfmt.Nanos)
}

func longestText(_ *judge.Series, c *Cell) string { return FigureText(judge.Longest(c), numfmt.Nanos) }

func waitTable(g *Group) Table {
	columns := []column{
		{Heading{Text: "samples"}, func(_ *judge.Series, c *Cell) string { return strconv.FormatInt(c.Waits().Count(), 10) }},
		{Heading{Text: "waiting"}, g.momentText}, {Heading{Text: "longest"}, longestText},
	}
	for _, q := range tabled {
		columns = append(columns, column{Heading{Text: quantileName(q)}, func(_ *judge.Series, c *Cell) string { return quoted(c.Waits(), q, g.Floor()) }})
	}
	return g.table(nil, columns, inUnits(g.inTrips(result.P50RoundTrips, result.P99RoundTrips)...)) // medians of the rounds, each by its own
}

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// LoadLocal and LoadRemote draw the wait of acquisitions over the offered rate, in open loops.
var LoadLocal, LoadRemote = both(Chart{
	Name:    "load",
	Title:   "How long does an acquisition wait at a given offered load?",
	Doc:     loadDoc,
	Open:    true,
	Carries: true,
	Draw:    drawLoad,
}, "How long does an acquisition of a distributed lock wait at a given offered load?")

const loadDoc = "Open loops: acquisitions are asked for at times drawn before, whether or not the lock keeps up, and a wait counts from when its acquisition was meant to begin. Bold line: p99 of the waits of all rounds together; thin line below: p50; dashed line above: p99.9; where fewer than ten samples lie above a quantile it is left out. Dashed upright line: the rate of the closed loop with as many workers, which ask again at once. Solid upright line: the knee, the greatest load of the run at which the lock grants 95 % of it and p99 is within ten times its unloaded value, that at the least load at which the run resolves it; the field around it: between which loads the knee lies in 95 % of runs made of the run's rounds, drawn again, or by each round alone if there are fewer than six. Hue: family; grey: p99 of the other locks."

func drawLoad(g *Group) Picture {
	s := g.Loads()
	if s == nil {
		return noLoads(g)
	}
	s.Locks = slices.DeleteFunc(s.Locks, func(l *loadedLock) bool { _, ok := s.range99(l); return !ok })
	if len(s.Locks) == 0 {
		return nothing("Too few waits were timed at any load to quote the median.")
	}
	return Picture{
		Answer: s.Answer(), Load: s.load(), Picture: s.frames(), Numbers: s.table(),
		Data: Source{Metrics: []*result.Metric{result.Throughput, result.Goodput}, Fields: []string{"wait"}, Rounds: []int{roundsOf(s.groups...)}},
	}
}

func (s *loadSweep) range99(l *loadedLock) (most float64, ok bool) {
	floor := s.floor()
	for i := range s.Rates {
		for _, q := range loadQuantiles {
			if v, known := l.wait(i, q, floor); known {
				most, ok = max(most, v), true
			}
		}
	}
	return most, ok
}

// loadQuantiles are drawn in this order; p99 is last, on top.
var loadQuantiles = []float64{0.5, 0.999, 0.99}

// Answer names the saturation points.
func (s *loadSweep) Answer() string {
	var all []*loadedLock
	for _, l := range s.Locks {
		if l.Kneed && l.S.Lock.Status != harness.Control {
			all = append(all, l)
		}
	}
	if len(all) == 0 {
		return "Too few waits were timed at each load to quote p99, by which it would be said where the knee is: more rounds, or a longer --duration, give more."
	}
	slices.SortStableFunc(all, func(a, b *loadedLock) int { return cmp.Compare(b.Knee.UpTo, a.Knee.UpTo) })
	says := func(l *loadedLock) string { return fmt.Sprintf("%s; %s", l.at(), l.why()) }
	best, worst := all[0], all[len(all)-1]
	text := ""
	switch {
	case len(all) == 1:
		text = fmt.Sprintf("The knee of %s is at %s.", best.S.Lock.Name, says(best))
	case best.Knee.UpTo == worst.Knee.UpTo:
		text = fmt.Sprintf("The knees of all locks are alike as far as this run tells; that of %s is at %s.", best.S.Lock.Name, says(best))
	case worst.Knee.To == 0 || best.Knee.From < worst.Knee.To:
		text = fmt.Sprintf("This run tells no knee from another: that of %s is at %s, that of %s at %s.", best.S.Lock.Name, says(best), worst.S.Lock.Name, says(worst))
	default:
		text = fmt.Sprintf("The knee of %s is highest: %s. That of %s is lowest: %s.", best.S.Lock.Name, says(best), worst.S.Lock.Name, says(worst))
	}
	if i := slices.IndexFunc(all, func(l *loadedLock) bool { return l.Knee.Unsound }); i >= 0 {
		text += fmt.Sprintf(" On this machine the waits of an unloaded lock are not the lock's own (p99 of %s %s): where that is ten times as long says little.",
			all[i].S.Lock.Name, numfmt.Nanos(all[i].Knee.RestP99))
	}
	return text
}

func (s *loadSweep) axes() *plot.Plot {
	floor := s.floor()
	xLo, xHi := float64(s.Rates[0]), float64(s.Rates[len(s.Rates)-1])
	lo, hi := math.Inf(1), 0.0
	for _, l := range s.Locks {
		if l.closed > 0 {
			xLo, xHi = min(xLo, l.closed), max(xHi, l.closed)
		}
		for i := range s.Rates {
			for _, q := range loadQuantiles {
				if v, ok := l.wait(i, q, floor); ok {
					lo, hi = min(lo, v), max(hi, v)
				}
			}
		}
	}
	lo, hi = draw.LogRange(lo, hi)
	pad := max(1.06, math.Pow(xHi/xLo, 0.04))
	p := draw.NewPlot(xLo/pad, xHi*pad, lo, hi)
	p.X.Scale, p.Y.Scale = draw.Warp(draw.Logarithm), draw.Warp(draw.Logarithm)
	p.Y.Tick.Marker = draw.LogTicks(lo, hi, numfmt.Nanos)
	p.X.Tick.Marker = draw.LogTicks(xLo/pad, xHi*pad, func(v float64) string { return harness.Rate(v).String() })
	return p
}

func (s *loadSweep) frames() draw.Picture {
	floor := s.floor()
	f := draw.Frames{Plot: s.axes(), XTitle: "acquisitions asked for, all workers together (log scale)",
		YTitle: "time from the intended start to the grant (log scale)", Under: draw.Gridlines(false), Notes: s.notes(), Apart: true}
	for _, l := range s.Locks {
		style := l.S.style.Alone()
		trace := func(q float64) func(c vgdraw.Canvas, p *plot.Plot) []vg.Point {
			return func(c vgdraw.Canvas, p *plot.Plot) (pts []vg.Point) {
				trX, trY := p.Transforms(&c)
				for i, r := range s.Rates {
					if v, ok := l.wait(i, q, floor); ok {
						pts = append(pts, vg.Point{X: trX(float64(r)), Y: trY(v)})
					}
				}
				return pts
			}
		}
		f.Curves = append(f.Curves, draw.Curve{Frame: l.S.Lock.Name, Name: l.S.Lock.Name, Style: style, Figure: s.figure(l, floor), Trace: trace(0.99), Under: l.kneeField, Band: l.upright,
			Line: func(c vgdraw.Canvas, p *plot.Plot) {
				for _, q := range loadQuantiles {
					st, pts := style.Line(), trace(q)(c, p)
					switch q {
					case 0.5:
						st.Width = vg.Points(0.8)
					case 0.999:
						st.Width, st.Dashes = vg.Points(0.8), []vg.Length{3, 2}
					}
					c.StrokeLines(st, pts)
					for _, pt := range pts {
						if q == 0.99 || len(pts) == 1 {
							style.Mark(c, pt)
						}
					}
				}
			}})
	}
	return f.Drawn()
}

func (s *loadSweep) notes() (notes []draw.Note) {
	if slices.ContainsFunc(s.Locks, func(l *loadedLock) bool { return l.closed > 0 }) {
		notes = append(notes, draw.Note{Colour: draw.Axis, Line: true, Text: "closed loop (dashed)"})
	}
	if slices.ContainsFunc(s.Locks, func(l *loadedLock) bool { return l.Kneed }) {
		notes = append(notes, draw.Note{Colour: draw.Warm, Text: "knee (solid), its interval"})
	}
	return notes
}

func (l *loadedLock) upright(c vgdraw.Canvas, p *plot.Plot) {
	trX, _ := p.Transforms(&c)
	if l.Kneed && l.Knee.UpTo > 0 {
		x := trX(float64(l.Knee.UpTo))
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Ink.RGBA(), Width: vg.Points(0.9)}, x, c.Min.Y, x, c.Max.Y)
	}
	if l.closed > 0 {
		x := trX(l.closed)
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Axis.RGBA(), Width: vg.Points(0.9), Dashes: []vg.Length{4, 2}}, x, c.Min.Y, x, c.Max.Y)
	}
}

func (l *loadedLock) kneeField(c vgdraw.Canvas, p *plot.Plot) {
	if !l.Kneed {
		return
	}
	trX, _ := p.Transforms(&c)
	from, to := c.Min.X, c.Max.X
	if l.Knee.From > 0 {
		from = max(from, trX(float64(l.Knee.From)))
	}
	if l.Knee.To > 0 {
		to = min(to, trX(float64(l.Knee.To)))
	}
	if from < to {
		c.FillPolygon(draw.Warm.RGBA(), draw.Rect(from, c.Min.Y, to, c.Max.Y))
	}
}

// figure is the text next to the name of l: its saturation point, or p99 at the greatest
// load that resolves it.
func (s *loadSweep) figure(l *loadedLock, floor float64) string {
	if l.Kneed && l.Knee.UpTo > 0 {
		return fmt.Sprintf("knee %v", l.Knee.UpTo)
	}
	for i, r := range slices.Backward(s.Rates) {
		if v, ok := l.wait(i, 0.99, floor); ok {
			return fmt.Sprintf("p99 %s at %v", numfmt.Nanos(v), r)
		}
	}
	return ""
}

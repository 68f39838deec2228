package chart

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/survival"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A price is the cost of a lock with its worst scenario.
type price struct {
	l        *Survivor
	look     draw.Look
	cost     float64      // time of a handover, ns; NaN if not measured
	unsafe   survival.Row // the scenario with the most violations
	window   survival.Row // the scenario with the longest median window
	windowed bool
}

const safetyCostTitle = "What does safety cost?"

const safetyCostDoc = "Hand-over: the time from one holder to the next where all want the lock, one over the rate by which the verdict ranks locks. Broken: in how many of 1000 faults two holders, a stale write or a token that fell broke what the scenario tests, in the scenario in which that was the most; whisker: the upper bound at 95 %, one-sided, after so many faults; of a lock that broke nothing that of the scenario with the fewest faults. Two holders are counted where a server is lost, and not where a holder is paused: there only what the resource took counts. Free and not granted: for how long the lock was free and not granted, in the scenario in which that took the longest; mark: the median, whisker: to the greatest. Locks are tried in the scenarios that apply to them, so these need not be the same. Hue: family; marker: lock; bold: a lock to use."

// prices returns the tested locks of s, the cheapest first; g is the group of the costs, or
// nil.
func (s *Safety) prices(g *Group, looks map[string]draw.Look) (out []*price) {
	var cost *metric.Metric
	if g != nil {
		cost = g.costMetric()
	}
	for _, l := range s.Locks {
		if l.Class.Tries == 0 {
			continue
		}
		p := &price{l: l, look: looks[l.Lock.Name], cost: math.NaN()}
		p.unsafe, _ = l.worstRow()
		p.window, p.windowed = l.longest()
		if g != nil {
			for _, x := range g.at(g.Crowd()) {
				if rate := x.Cells[g.Crowd()].Summary(cost).Median; rate > 0 && x.Lock.Name == l.Lock.Name {
					p.cost = 1e9 / rate
				}
			}
		}
		out = append(out, p)
	}
	slices.SortStableFunc(out, func(a, b *price) int {
		switch {
		case a.cost < b.cost || math.IsNaN(b.cost) && !math.IsNaN(a.cost):
			return -1
		case b.cost < a.cost || math.IsNaN(a.cost) && !math.IsNaN(b.cost):
			return 1
		}
		return 0
	})
	return out
}

// costMetric returns the rate that measures the cost of a lock of g.
func (g *Group) costMetric() *metric.Metric { return g.Group.Metric(g.Crowd()) }

// DrawSafetyCost draws the costs of the locks of s against their failures.
func DrawSafetyCost(s *Safety, g *Group, looks map[string]draw.Look) Picture {
	ps := s.prices(g, looks)
	if len(ps) == 0 {
		return nothing("Not tested: no failure scenario was tried.")
	}
	priced := slices.ContainsFunc(ps, func(p *price) bool { return !math.IsNaN(p.cost) })
	pic := Picture{
		Answer: costAnswer(ps, g, priced),
		Data:   Source{Fields: []string{"tries", "seen", "window"}},
		Picture: draw.Picture{Height: vg.Length(len(ps))*priceStep + priceHead + priceFoot, Body: func(c vgdraw.Canvas) error {
			drawPrices(c, ps, priced)
			return nil
		}},
	}
	pic.Numbers.Head = Titles("lock", "hand-over", "broken in 1000", "bound", "in", "faults", "window p50", "greatest", "in")
	if priced {
		pic.Data.Metrics = []*metric.Metric{g.costMetric()}
		pic.Data.Rounds = []int{roundsOf(g)}
		pic.Numbers.Head[1] = Piece{"hand-over", g.costMetric()}
	}
	for _, p := range ps {
		row := []string{p.l.Lock.Name, numfmt.Nanos(p.cost), numfmt.Number(p.unsafe.Broken), numfmt.Percent(100 * p.unsafe.BrokenBound), p.unsafe.Fault.Scenario, fmt.Sprint(p.unsafe.N), numfmt.Unknown, numfmt.Unknown, numfmt.Unknown}
		if p.windowed {
			row[6], row[7], row[8] = Lasting(p.window.Window.Median), Lasting(p.window.Window.Most), p.window.Fault.Scenario
		}
		pic.Numbers.Rows = append(pic.Numbers.Rows, row)
	}
	return pic
}

// costAnswer compares the costs of the locks without a violation with the fastest lock.
func costAnswer(ps []*price, g *Group, priced bool) string {
	var safe []*price
	for _, p := range ps {
		if p.unsafe.Broken == 0 {
			safe = append(safe, p)
		}
	}
	name := func(ps []*price) string {
		var names []string
		for _, p := range ps {
			names = append(names, p.l.Lock.Name)
		}
		return numfmt.List(names, 5)
	}
	if len(safe) == 0 {
		return fmt.Sprintf("Each of %s broke a guarantee in some scenario: %s the least often, in %s of 1000 faults.", numfmt.Plural(len(ps), "lock"), least(ps).l.Lock.Name, numfmt.Number(least(ps).unsafe.Broken))
	}
	text := fmt.Sprintf("%s of %s broke neither failover nor fencing: %s.", fmt.Sprint(len(safe)), numfmt.Plural(len(ps), "lock"), name(safe))
	if !priced {
		return text + " What they cost was not measured in this run."
	}
	b := ps[0] // the fastest usable lock, if there is one
	if i := slices.IndexFunc(ps, func(p *price) bool { return p.l.Lock.Status == harness.Recommended }); i >= 0 {
		b = ps[i]
	}
	if a := safe[0]; !math.IsNaN(a.cost) {
		if a == b {
			return text + fmt.Sprintf(" Of all that are for use %s is also handed over the soonest, in %s with %s: here safety costs nothing.", a.l.Lock.Name, numfmt.Nanos(a.cost), g.unit(g.Crowd()))
		}
		text += fmt.Sprintf(" Of these %s is handed over the soonest, in %s with %s: %s as long as %s, which broke a guarantee in %s of 1000 faults of %s.",
			a.l.Lock.Name, numfmt.Nanos(a.cost), g.unit(g.Crowd()), numfmt.Times(a.cost/b.cost), b.l.Lock.Name, numfmt.Number(b.unsafe.Broken), b.unsafe.Fault.Scenario)
	}
	return text
}

func least(ps []*price) *price {
	return slices.MinFunc(ps, func(a, b *price) int {
		switch {
		case a.unsafe.Broken < b.unsafe.Broken:
			return -1
		case a.unsafe.Broken > b.unsafe.Broken:
			return 1
		}
		return 0
	})
}

func PerThousand(row survival.Row) string {
	if math.IsNaN(row.Violations) {
		return numfmt.Unknown
	}
	text := numfmt.Number(row.Violations)
	if row.AtLeast {
		text = "≥" + numfmt.Space + text
	}
	return text
}

// Lasting formats a time that may be infinite or negative.
func Lasting(ns float64) string {
	switch {
	case math.IsInf(ns, 1):
		return "no end"
	case ns < 0:
		return "−" + numfmt.Nanos(-ns)
	}
	return numfmt.Nanos(ns)
}

const (
	priceStep = vg.Length(19)
	priceHead = vg.Length(20)
	priceFoot = vg.Length(34)
	priceGap  = vg.Length(22)
)

// drawPrices draws a row for each lock, with up to three columns.
func drawPrices(c vgdraw.Canvas, ps []*price, priced bool) {
	c = vgdraw.Crop(c, 0, -8, 4, 0)
	var left vg.Length
	for _, p := range ps {
		left = max(left, min(p.style().Width(p.l.Lock.Name), draw.Width/4))
	}
	left += 36
	top := c.Max.Y - priceHead
	for i, p := range ps {
		y := top - (vg.Length(i)+0.5)*priceStep
		if i%2 == 0 {
			c.FillPolygon(draw.Shade.RGBA(), draw.Rect(c.Min.X, y-priceStep/2, c.Max.X, y+priceStep/2))
		}
		p.look.Mark(c, vg.Point{X: c.Min.X + 8, Y: y})
		c.FillText(p.style(), vg.Point{X: c.Min.X + 16, Y: y + draw.Lift}, draw.Shorten(p.style(), p.l.Lock.Name, left-20))
	}
	columns := []priceColumn{unsafeColumn(ps), windowColumn(ps)}
	if priced {
		columns = append([]priceColumn{costColumn(ps)}, columns...)
	}
	n := vg.Length(len(columns))
	wide := (c.Size().X - left - priceGap*(n-1)) / n
	for i, col := range columns {
		b := c
		b.Min.X = c.Min.X + left + vg.Length(i)*(wide+priceGap)
		b.Max = vg.Point{X: b.Min.X + wide, Y: top}
		b.Min.Y = top - vg.Length(len(ps))*priceStep
		col.draw(b, ps)
	}
}

func (p *price) style() (st text.Style) {
	st = draw.Typeset(9, draw.Muted, 0, vgdraw.YCenter)
	if p.look.Strong {
		st = draw.Bold(draw.Typeset(9, draw.Ink, 0, vgdraw.YCenter))
	}
	return st
}

type priceColumn struct {
	title  string
	lo, hi float64
	log    bool
	format func(float64) string
	of     func(p *price) (v, to float64, ok bool)
	empty  string
}

func costColumn(ps []*price) priceColumn {
	col := priceColumn{title: "hand-over (log scale)", log: true, format: numfmt.Nanos, empty: "not measured",
		of: func(p *price) (float64, float64, bool) { return p.cost, p.cost, !math.IsNaN(p.cost) }}
	col.reach(ps)
	return col
}

func unsafeColumn(ps []*price) priceColumn {
	return priceColumn{title: "guarantee broken in 1000 faults", lo: 0, hi: 1000, format: numfmt.Number, empty: "not tested",
		of: func(p *price) (float64, float64, bool) {
			return p.unsafe.Broken, 1000 * p.unsafe.BrokenBound, !math.IsNaN(p.unsafe.Broken)
		}}
}

func windowColumn(ps []*price) priceColumn {
	col := priceColumn{title: "free and not granted (log scale)", log: true, format: Lasting, empty: "none seen",
		of: func(p *price) (float64, float64, bool) {
			return p.window.Window.Median, p.window.Window.Most, p.windowed
		}}
	col.reach(ps)
	return col
}

// reach chooses the range of a logarithmic column. Infinite values lie beyond it.
func (col *priceColumn) reach(ps []*price) {
	lo, hi := math.Inf(1), 0.0
	for _, p := range ps {
		v, to, ok := col.of(p)
		for _, x := range []float64{v, to} {
			if ok && x > 0 && !math.IsInf(x, 0) {
				lo, hi = min(lo, x), max(hi, x)
			}
		}
	}
	col.lo, col.hi = draw.LogRange(lo, hi)
}

func (col priceColumn) draw(b vgdraw.Canvas, ps []*price) {
	c := b
	p := draw.NewPlot(col.lo, col.hi, 0, 1)
	ticks := draw.LinearTicks(col.lo, col.hi, col.format)
	if col.log {
		p.X.Scale = draw.Warp(draw.Logarithm)
		ticks = draw.LogTicks(col.lo, col.hi, col.format)
	}
	trX, _ := p.Transforms(&b)
	st := draw.Typeset(8, draw.Muted, vgdraw.XCenter, vgdraw.YTop)
	c.FillText(draw.Bold(draw.Typeset(8.5, draw.Ink, vgdraw.XCenter, vgdraw.YBottom)), vg.Point{X: b.Center().X, Y: b.Max.Y + 5}, col.title)
	end := b.Min.X - priceGap
	for _, t := range ticks {
		if t.Label == "" {
			continue
		}
		x, half := trX(t.Value), st.Width(t.Label)/2
		c.StrokeLine2(vgdraw.LineStyle{Color: draw.Grid.RGBA(), Width: vg.Points(0.6)}, x, b.Min.Y, x, b.Max.Y)
		if x-half > end+3 && x+half < b.Max.X+priceGap/2 {
			c.FillText(st, vg.Point{X: x, Y: b.Min.Y - 4}, t.Label)
			end = x + half
		}
	}
	for i, q := range ps {
		col.row(b, p, q, b.Max.Y-(vg.Length(i)+0.5)*priceStep)
	}
}

func (col priceColumn) row(b vgdraw.Canvas, p *plot.Plot, q *price, y vg.Length) {
	c := b
	trX, _ := p.Transforms(&b)
	v, to, ok := col.of(q)
	if !ok {
		c.FillText(draw.Typeset(8.5, draw.Muted, vgdraw.XLeft, vgdraw.YCenter), vg.Point{X: b.Min.X + 4, Y: y + draw.Lift}, col.empty)
		return
	}
	at := func(v float64) vg.Length {
		if math.IsInf(v, 1) {
			return b.Max.X
		}
		return max(b.Min.X, min(trX(v), b.Max.X))
	}
	c.StrokeLine2(vgdraw.LineStyle{Color: q.look.Hue.Alpha(150), Width: vg.Points(1.4)}, at(v), y, at(to), y)
	switch {
	case math.IsInf(v, 1): // left of the mark
		c.FillText(draw.Typeset(8.5, draw.Rust, vgdraw.XRight, vgdraw.YCenter), vg.Point{X: b.Max.X - 8, Y: y + draw.Lift}, Lasting(v))
	case math.IsInf(to, 1): // on its whisker
		c.FillText(draw.Typeset(8.5, draw.Rust, vgdraw.XRight, vgdraw.YBottom), vg.Point{X: b.Max.X, Y: y + 1}, Lasting(to))
	}
	q.look.Mark(c, vg.Point{X: at(v), Y: y})
}

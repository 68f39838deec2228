package reports

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
)

// ParetoLocal and ParetoRemote draw rate against fairness, at the greatest
// number of workers at which most locks were measured, and name the locks than
// which none is both faster and fairer.
var (
	ParetoLocal = &Chart{
		Name:  "tradeoff",
		Title: "What does fairness cost in speed?",
		Doc:   paretoDoc,
		once:  true,
		draw:  drawPareto,
	}
	ParetoRemote = &Chart{
		Name:   "tradeoff-distributed",
		Title:  "What does the fairness of a distributed lock cost in speed?",
		Doc:    paretoDoc,
		Remote: true,
		once:   true,
		draw:   drawPareto,
	}
)

const paretoDoc = "Mark: medians over the rounds; cross: their 95 % order-statistic intervals, or the range of the rounds if there are fewer than six. Hue: family; marker: lock. The line is the front of V. Pareto: for each lock on it, none has both a higher median rate and a higher median index. A lock behind it is surely beaten if another one beats it in one of the two beyond chance, by the figures of the same round at 95 % for all of these comparisons together (Bonferroni), and is not behind by the median of the other."

// A tradeoff is one lock.
type tradeoff struct {
	s          *series
	c          *cell
	rate, jain metric.Summary
	front      bool // none is better in both medians
	beaten     bool // surely
}

// tradeoffs returns those of the locks of g with w workers, fastest first.
func (g *group) tradeoffs(w int) (out []*tradeoff) {
	m := g.rate(w)
	for _, s := range g.at(w) {
		t := &tradeoff{s: s, c: s.cells[w]}
		t.rate, t.jain = t.c.summary(m), t.c.summary(metric.Jain)
		if s.lock.Status != harness.Control && t.rate.N > 0 && t.rate.Median > 0 && !math.IsInf(t.rate.Median, 0) && t.jain.N > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *tradeoff) int {
		return cmp.Or(cmp.Compare(b.rate.Median, a.rate.Median), cmp.Compare(b.jain.Median, a.jain.Median))
	})
	n := len(out)
	level := 1 - family95/float64(max(1, 2*n*(n-1)))
	for _, t := range out {
		t.front = true
		for _, o := range out {
			faster, fairer := o.rate.Median >= t.rate.Median, o.jain.Median >= t.jain.Median
			if o == t || !faster || !fairer {
				continue
			}
			if o.rate.Median > t.rate.Median || o.jain.Median > t.jain.Median {
				t.front = false
			}
			for _, m := range []*metric.Metric{m, metric.Jain} {
				xs, ys := pairs(o.c, t.c, m)
				t.beaten = t.beaten || metric.Compare(xs, ys, level).Greater()
			}
		}
	}
	return out
}

// rate is what the locks of g are ranked by with w workers: an owner that takes
// its lock back does not make a distributed lock fast.
func (g *group) rate(w int) *metric.Metric {
	if g.remote && w > 1 && g.load.Reads == 0 { // readers hand nothing over
		return metric.Handovers
	}
	return metric.Throughput
}

func drawPareto(g *group) picture {
	w := g.crowd()
	ts := g.tradeoffs(w)
	if len(ts) < 2 {
		return nothing("With %s, fewer than two locks have both a rate and shares of two or more workers, so there is nothing to weigh up.", g.unit(w))
	}
	return picture{
		answer:  paretoAnswer(g, w, ts),
		height:  max(330, vg.Length(len(ts))*labelGap+60),
		numbers: paretoTable(ts),
		body: func(c draw.Canvas) error {
			paretoBody(c, g, w, ts)
			return nil
		},
	}
}

func paretoAnswer(g *group, w int, ts []*tradeoff) string {
	var front, open []string
	for _, t := range ts {
		switch {
		case t.front:
			front = append(front, fmt.Sprintf("%s (%s, Jain"+nb+"%s)", t.s.lock.Name, perSecond(t.rate.Median), percent(t.jain.Median)))
		case !t.beaten:
			open = append(open, t.s.lock.Name)
		}
	}
	text := fmt.Sprintf("With %s, ", g.unit(w))
	if len(front) == 1 {
		text += front[0] + " has both the highest rate and the fairest shares: here fairness costs nothing."
	} else {
		text += fmt.Sprintf("%d of %s are on the front, where more of the one costs some of the other: %s.", len(front), plural(len(ts), "lock"), list(front, 5))
	}
	behind := len(ts) - len(front)
	switch {
	case behind == 0:
	case len(open) == 0:
		text += fmt.Sprintf(" The other %d are surely beaten.", behind)
	case len(open) == behind:
		text += " None of the others is surely beaten: the front may run otherwise."
	default:
		text += fmt.Sprintf(" Of the other %d, these are not surely beaten: %s.", behind, list(open, 5))
	}
	return text
}

func paretoBody(c draw.Canvas, g *group, w int, ts []*tradeoff) {
	least, lo, hi := 100.0, math.Inf(1), 0.0
	for _, t := range ts {
		lo, hi, least = min(lo, t.rate.Median), max(hi, t.rate.Median), min(least, t.jain.Median)
	}
	for _, t := range ts { // an interval that is far wider than the medians ends at the frame
		if t.rate.Lo > lo/4 {
			lo = min(lo, t.rate.Lo)
		}
		if t.rate.Hi < 4*hi {
			hi = max(hi, t.rate.Hi)
		}
	}
	lo, hi = logRange(lo, hi)
	from := max(0, min(75, 25*math.Floor((least-5)/25)))
	p := newPlot(from, 100, lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = warp(logarithm), logTicks(lo, hi, si)
	p.X.Tick.Marker = linearTicks(from, 100, percent)
	labels := make([]endLabel, len(ts))
	for i, t := range ts {
		labels[i] = endLabel{text: t.s.lock.Name, look: t.s.look}
		labels[i].look.strong = t.front
	}
	p.Add(gridlines(true), drawing(func(c draw.Canvas, p *plot.Plot) { paretoMarks(c, p, ts, labels) }))
	unit := "acquisitions per second"
	if g.rate(w) == metric.Handovers {
		unit = "hand-overs per second"
	}
	place(p, draw.Crop(c, 0, -labelRoom(labels), 0, 0), "Jain index of the workers' acquisitions (100 % = equal shares)",
		fmt.Sprintf("%s, %s (log scale)", unit, g.unit(w)))
}

// paretoMarks draws the front, the locks and their names: beside the mark where
// there is room, else beside the frame.
func paretoMarks(c draw.Canvas, p *plot.Plot, ts []*tradeoff, labels []endLabel) {
	trX, trY := p.Transforms(&c)
	at := func(x, y float64) vg.Point {
		return vg.Point{X: max(c.Min.X, min(trX(x), c.Max.X)), Y: max(c.Min.Y, min(trY(y), c.Max.Y))}
	}
	var front, marks []vg.Point
	for _, t := range ts { // fastest first, so the index rises along the front
		pt := at(t.jain.Median, t.rate.Median)
		marks = append(marks, pt)
		if t.front {
			if n := len(front); n > 0 {
				front = append(front, vg.Point{X: front[n-1].X, Y: pt.Y})
			} else {
				front = append(front, vg.Point{X: c.Min.X, Y: pt.Y})
			}
			front = append(front, pt)
		}
	}
	front = append(front, vg.Point{X: front[len(front)-1].X, Y: c.Min.Y})
	c.StrokeLines(draw.LineStyle{Color: ghost.rgba(), Width: vg.Points(2)}, front)
	for _, t := range ts {
		st := draw.LineStyle{Color: t.s.look.hue.alpha(110), Width: vg.Points(0.9)}
		a, b := at(t.jain.Lo, t.rate.Median), at(t.jain.Hi, t.rate.Median)
		c.StrokeLine2(st, a.X, a.Y, b.X, b.Y)
		a, b = at(t.jain.Median, max(t.rate.Lo, p.Y.Min)), at(t.jain.Median, t.rate.Hi)
		c.StrokeLine2(st, a.X, a.Y, b.X, b.Y)
	}
	var beside []endLabel
	var taken []vg.Rectangle
	for i := range marks {
		labels[i].look.mark(c, marks[i])
		taken = append(taken, around(marks[i], 4.5))
	}
	for _, first := range []bool{true, false} {
		for i, t := range ts {
			if t.front == first && !labels[i].near(c, marks[i], &taken) {
				l := labels[i]
				l.y = marks[i].Y
				c.StrokeLine2(draw.LineStyle{Color: l.look.hue.alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, marks[i].X+5, l.y, c.Max.X+5, l.y)
				l.look.dash = nil
				beside = append(beside, l)
			}
		}
	}
	drawMarks(c, beside)
}

// around returns the square around pt.
func around(pt vg.Point, r vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: pt.X - r, Y: pt.Y - r}, Max: vg.Point{X: pt.X + r, Y: pt.Y + r}}
}

func overlap(a, b vg.Rectangle) bool {
	return a.Min.X < b.Max.X && b.Min.X < a.Max.X && a.Min.Y < b.Max.Y && b.Min.Y < a.Max.Y
}

// near writes l beside its mark at pt if there is room, and adds it to taken.
func (l endLabel) near(c draw.Canvas, pt vg.Point, taken *[]vg.Rectangle) bool {
	st := typeset(labelSize, muted, draw.XLeft, draw.YCenter)
	if l.look.strong {
		st = bold(typeset(labelSize, ink, draw.XLeft, draw.YCenter))
	}
	w, h := st.Width(l.text), vg.Length(labelSize)
	for _, d := range []vg.Point{{X: 7}, {X: -7 - w}, {X: -w / 2, Y: 10}, {X: -w / 2, Y: -10}, {X: 5, Y: 8}, {X: 5, Y: -8}, {X: -5 - w, Y: 8}, {X: -5 - w, Y: -8}} {
		to := pt.Add(d)
		box := vg.Rectangle{Min: vg.Point{X: to.X - 1, Y: to.Y - h/2}, Max: vg.Point{X: to.X + w + 1, Y: to.Y + h/2}}
		free := box.Min.X > c.Min.X && box.Max.X < c.Max.X && box.Min.Y > c.Min.Y && box.Max.Y < c.Max.Y &&
			!slices.ContainsFunc(*taken, func(o vg.Rectangle) bool { return overlap(o, box) })
		if free {
			c.FillText(st, to, l.text)
			*taken = append(*taken, box)
			return true
		}
	}
	return false
}

// drawMarks writes labels right of c, each with its mark.
func drawMarks(c draw.Canvas, labels []endLabel) {
	pos := spread(labels, labelGap, c.Min.Y-6, c.Max.Y+6)
	for i, l := range labels {
		x, y := c.Max.X, pos[i]
		c.StrokeLines(draw.LineStyle{Color: l.look.hue.alpha(150), Width: vg.Points(0.6)},
			[]vg.Point{{X: x + 5, Y: l.y}, {X: x + 16, Y: y}, {X: x + 22, Y: y}})
		l.look.mark(c, vg.Point{X: x + 28, Y: y})
		st := typeset(labelSize, muted, draw.XLeft, draw.YCenter)
		if l.look.strong {
			st = bold(typeset(labelSize, ink, draw.XLeft, draw.YCenter))
		}
		c.FillText(st, vg.Point{X: x + 36, Y: y}, l.text)
	}
}

func paretoTable(ts []*tradeoff) table {
	t := table{head: []string{"lock", "rounds", "per second", "interval", "jain", "interval", "front", "surely beaten"}}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, x := range ts {
		t.rows = append(t.rows, []string{x.s.lock.Name, strconv.Itoa(x.rate.N), si(x.rate.Median), interval(x.rate, si),
			percent(x.jain.Median), interval(x.jain, percent), yes[x.front], yes[x.beaten]})
	}
	return t
}

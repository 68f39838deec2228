package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// ParetoLocal and ParetoRemote draw rate against fairness, at the greatest number of
// workers at which most locks were measured. They name the Pareto front: the locks that no
// other lock beats in both.
var (
	ParetoLocal = &Chart{
		Name:  "tradeoff",
		Title: "What does fairness cost in speed?",
		Doc:   paretoDoc,
		Once:  true,
		Draw:  drawPareto,
	}
	ParetoRemote = &Chart{
		Name:   "tradeoff-distributed",
		Title:  "What does the fairness of a distributed lock cost in speed?",
		Doc:    paretoDoc,
		Remote: true,
		Once:   true,
		Draw:   drawPareto,
	}
)

const paretoDoc = "Mark: medians over the rounds; cross: their 95 % order-statistic intervals, or the range of the rounds if there are fewer than six. Hue: family; marker: lock; bold: on the front. The line is the front of V. Pareto: none beats a lock on it in one of the two medians without being behind in the other; the index counts to the nearest point. A lock behind it is dominated if one that is no less fair is faster beyond chance: by the ratio of the rates in the same round, at 95 % for all comparisons of that lock together (Bonferroni)."

type tradeoff struct {
	s          *series
	c          *Cell
	rate, jain stat.Summary
	front      bool // no other lock is better in both medians
	dominated  bool // dominated with significance
	told       bool // there were enough rounds for significance
}

// tradeoffs returns the tradeoffs of the locks of g with w workers, fastest first.
func (g *Group) tradeoffs(w int) (out []*tradeoff) {
	m, fairness := g.rate(w), g.fairness()
	for _, s := range g.at(w) {
		t := &tradeoff{s: s, c: s.Cells[w]}
		t.rate, t.jain = t.c.Summary(m), t.c.Summary(fairness)
		if s.Lock.Status != harness.Control && t.rate.N > 0 && t.rate.Median > 0 && !math.IsInf(t.rate.Median, 0) && t.jain.N > 0 {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b *tradeoff) int {
		return cmp.Or(cmp.Compare(b.rate.Median, a.rate.Median), cmp.Compare(b.jain.Median, a.jain.Median))
	})
	level := stat.Level(len(out) - 1)
	for _, t := range out {
		t.front = true
		for _, o := range out {
			if o == t || o.rate.Median < t.rate.Median || o.fair() < t.fair() {
				continue
			}
			if o.rate.Median > t.rate.Median || o.fair() > t.fair() {
				t.front = false
			}
			xs, ys := verdict.Pairs(o.c, t.c, m)
			duel := stat.Paired(xs, ys, level)
			t.dominated = t.dominated || duel.Greater()
			t.told = t.told || duel.Enough()
		}
	}
	return out
}

// fair returns the index rounded to a percent: smaller differences do not form a front.
func (t *tradeoff) fair() float64 { return math.Round(t.jain.Median) }

// rate returns the metric that ranks the locks of g with w workers. An owner that takes its
// lock back does not make a distributed lock fast.
func (g *Group) rate(w int) *metric.Metric {
	if g.Remote && w > 1 && g.Load.Reads == 0 { // readers hand nothing over
		return metric.Handovers
	}
	return metric.Throughput
}

func drawPareto(g *Group) Picture {
	w := g.Crowd()
	ts := g.tradeoffs(w)
	if len(ts) < 2 {
		return nothing("With %s, fewer than two locks have both a rate and shares of two or more workers, so there is nothing to weigh up.", g.unit(w))
	}
	return Picture{
		Answer:  paretoAnswer(g, w, ts),
		Numbers: paretoTable(g.rate(w), g.fairness(), ts),
		Data:    g.source(g.rate(w), g.fairness()),
		Picture: draw.Picture{Height: max(330, vg.Length(len(ts))*draw.LabelGap+60), Body: func(c vgdraw.Canvas) error {
			paretoBody(c, g, w, ts)
			return nil
		}},
	}
}

func paretoAnswer(g *Group, w int, ts []*tradeoff) string {
	var front, open []string
	told := false
	for _, t := range ts {
		told = told || t.told
		switch {
		case t.front:
			front = append(front, fmt.Sprintf("%s (%s, Jain"+numfmt.Space+"%s)", t.s.Lock.Name, numfmt.PerSecond(t.rate.Median), numfmt.Percent(t.jain.Median)))
		case !t.dominated:
			open = append(open, t.s.Lock.Name)
		}
	}
	text := fmt.Sprintf("With %s, ", g.unit(w))
	if len(front) == 1 {
		text += front[0] + " has both the highest rate and the fairest shares: here fairness costs nothing."
	} else {
		text += fmt.Sprintf("%d of %s are on the front, where more of the one costs some of the other: %s.", len(front), numfmt.Plural(len(ts), "lock"), numfmt.List(front, 5))
	}
	behind := len(ts) - len(front)
	switch {
	case behind == 0:
	case !told:
		text += fmt.Sprintf(" But n = %d: too few rounds to tell whether any of the others is dominated.", ts[0].rate.N)
	case len(open) == 0 && behind == 1:
		text += " The other one is dominated."
	case len(open) == 0:
		text += fmt.Sprintf(" The other %d are dominated.", behind)
	case len(open) == behind && behind == 1:
		text += " The other one is not shown to be dominated: the front may run otherwise."
	case len(open) == behind:
		text += " None of the others is shown to be dominated: the front may run otherwise."
	default:
		text += fmt.Sprintf(" Of the other %d, these are not shown to be dominated: %s.", behind, numfmt.List(open, 5))
	}
	return text
}

func paretoBody(c vgdraw.Canvas, g *Group, w int, ts []*tradeoff) {
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
	lo, hi = draw.LogRange(lo, hi)
	from := max(0, min(75, 25*math.Floor((least-5)/25)))
	p := draw.NewPlot(from, 100, lo, hi)
	p.Y.Scale, p.Y.Tick.Marker = draw.Warp(draw.Logarithm), draw.LogTicks(lo, hi, numfmt.SI)
	p.X.Tick.Marker = draw.LinearTicks(from, 100, numfmt.Percent)
	labels := make([]draw.EndLabel, len(ts))
	for i, t := range ts {
		labels[i] = draw.EndLabel{Look: t.s.look}
		labels[i].Look.Strong = t.front
		labels[i].Text = draw.Shorten(labelStyle(labels[i]), t.s.Lock.Name, draw.RowsName)
	}
	p.Add(draw.Gridlines(true), draw.Layer(func(c vgdraw.Canvas, p *plot.Plot) { paretoMarks(c, p, ts, labels) }))
	unit := "acquisitions per second"
	if g.rate(w) == metric.Handovers {
		unit = "hand-overs per second"
	}
	draw.Place(p, vgdraw.Crop(c, 0, -draw.LabelRoom(labels), 0, 0), fairnessTitles(g.fairness(), g.Remote),
		fmt.Sprintf("%s, %s (log scale)", unit, g.unit(w)))
}

// paretoMarks draws the front, the locks and their names. A name is next to its mark if
// there is room, and outside the frame otherwise.
func paretoMarks(c vgdraw.Canvas, p *plot.Plot, ts []*tradeoff, labels []draw.EndLabel) {
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
	c.StrokeLines(vgdraw.LineStyle{Color: draw.Ghost.RGBA(), Width: vg.Points(2)}, front)
	o := obstacles{}
	for i := 1; i < len(front); i++ { // the line falls to the right
		o.soft = append(o.soft, vg.Rectangle{Min: vg.Point{X: front[i-1].X, Y: front[i].Y}, Max: vg.Point{X: front[i].X, Y: front[i-1].Y}})
	}
	opacity := map[bool]uint8{true: 150, false: 70}
	for i, t := range ts {
		st := vgdraw.LineStyle{Color: t.s.look.Hue.Alpha(opacity[t.front]), Width: vg.Points(0.9)}
		a, b := at(t.jain.Lo, t.rate.Hi), at(t.jain.Hi, max(t.rate.Lo, p.Y.Min))
		pt := marks[i]
		c.StrokeLine2(st, a.X, pt.Y, b.X, pt.Y)
		c.StrokeLine2(st, pt.X, a.Y, pt.X, b.Y)
		o.soft = append(o.soft, vg.Rectangle{Min: vg.Point{X: a.X, Y: pt.Y}, Max: vg.Point{X: b.X, Y: pt.Y}},
			vg.Rectangle{Min: vg.Point{X: pt.X, Y: b.Y}, Max: vg.Point{X: pt.X, Y: a.Y}})
	}
	for i := range ts {
		labels[i].Look.Mark(c, marks[i])
		o.hard = append(o.hard, around(marks[i], 4.5, 4.5))
	}
	drawMarks(c, placeNames(c, ts, labels, marks, &o))
}

// placeNames writes the names that have room next to their marks, the front first, and
// returns the others.
func placeNames(c vgdraw.Canvas, ts []*tradeoff, labels []draw.EndLabel, marks []vg.Point, o *obstacles) (beside []draw.EndLabel) {
	for _, first := range []bool{true, false} {
		for i, t := range ts {
			if t.front != first || marks[i].X < c.Max.X-paretoEdge && near(labels[i], c, marks[i], o) {
				continue
			}
			l := labels[i]
			l.Y = marks[i].Y
			c.StrokeLine2(vgdraw.LineStyle{Color: l.Look.Hue.Alpha(90), Width: vg.Points(0.6), Dashes: []vg.Length{1, 2}}, marks[i].X+5, l.Y, c.Max.X+5, l.Y)
			beside = append(beside, l)
		}
	}
	return beside
}

// paretoEdge is the distance from the frame within which all names are outside it: fair
// locks crowd there.
const paretoEdge = vg.Length(30)

// obstacles are the areas that a name must not (hard) or should not (soft) overlap.
type obstacles struct{ hard, soft []vg.Rectangle }

func around(pt vg.Point, x, y vg.Length) vg.Rectangle {
	return vg.Rectangle{Min: vg.Point{X: pt.X - x, Y: pt.Y - y}, Max: vg.Point{X: pt.X + x, Y: pt.Y + y}}
}

func free(box vg.Rectangle, taken []vg.Rectangle) bool {
	return !slices.ContainsFunc(taken, func(o vg.Rectangle) bool {
		return o.Min.X < box.Max.X && box.Min.X < o.Max.X+0.1 && o.Min.Y < box.Max.Y && box.Min.Y < o.Max.Y+0.1
	})
}

// near writes l next to its mark at pt if there is room, and adds it to o.
func near(l draw.EndLabel, c vgdraw.Canvas, pt vg.Point, o *obstacles) bool {
	st := labelStyle(l)
	st.XAlign = vgdraw.XCenter
	half := st.Width(l.Text) / 2
	const high = draw.LabelSize/2 + 1.5
	for _, clear := range []bool{true, false} {
		for _, d := range []vg.Point{{X: 7 + half}, {X: -7 - half}, {Y: 11}, {Y: -11}, {X: half + 6, Y: 8}, {X: half + 6, Y: -8}, {X: -half - 6, Y: 8}, {X: -half - 6, Y: -8}} {
			to := pt.Add(d)
			box := around(to, half+1, high)
			inside := box.Min.X > c.Min.X && box.Max.X < c.Max.X && box.Min.Y > c.Min.Y && box.Max.Y < c.Max.Y
			if !inside || !free(box, o.hard) || clear && !free(box, o.soft) {
				continue
			}
			c.FillText(st, to.Add(vg.Point{Y: draw.Lift}), l.Text)
			o.hard = append(o.hard, box)
			return true
		}
	}
	return false
}

func labelStyle(l draw.EndLabel) text.Style {
	if l.Look.Strong {
		return draw.Bold(draw.Typeset(draw.LabelSize, draw.Ink, vgdraw.XLeft, vgdraw.YCenter))
	}
	return draw.Typeset(draw.LabelSize, draw.Muted, vgdraw.XLeft, vgdraw.YCenter)
}

func drawMarks(c vgdraw.Canvas, labels []draw.EndLabel) {
	pos := draw.Spread(labels, draw.LabelGap, c.Min.Y-6, c.Max.Y+6)
	for i, l := range labels {
		x, y := c.Max.X, pos[i]
		c.StrokeLines(vgdraw.LineStyle{Color: l.Look.Hue.Alpha(150), Width: vg.Points(0.6)},
			[]vg.Point{{X: x + 5, Y: l.Y}, {X: x + 16, Y: y}, {X: x + 22, Y: y}})
		l.Look.Mark(c, vg.Point{X: x + 28, Y: y})
		c.FillText(labelStyle(l), vg.Point{X: x + 36, Y: y + draw.Lift}, l.Text)
	}
}

func paretoTable(m, fairness *metric.Metric, ts []*tradeoff) Table {
	t := Table{Head: slices.Concat(Titles("lock", "rounds"), []Piece{{"per second", m}}, Titles("interval"), ByName(fairness), Titles("interval", "front", "dominated"))}
	yes := map[bool]string{true: "yes", false: "no"}
	for _, x := range ts {
		t.Rows = append(t.Rows, []string{x.s.Lock.Name, strconv.Itoa(x.rate.N), numfmt.SI(x.rate.Median), interval(x.rate, numfmt.SI),
			numfmt.Percent(x.jain.Median), interval(x.jain, numfmt.Percent), yes[x.front], yes[x.dominated]})
	}
	return t
}

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
	"locklab/internal/numfmt"
)

// ShortTermLocal and ShortTermRemote draw over the number of workers how many
// of them get the lock within as many acquisitions as there are workers.
var (
	ShortTermLocal = &Chart{
		Name:  "short-term",
		Title: "Does every worker get its turn soon?",
		Doc:   shortTermDoc,
		once:  true,
		draw:  drawShortTerm,
	}
	ShortTermRemote = &Chart{
		Name:   "short-term-distributed",
		Title:  "Does every worker of a distributed lock get its turn soon?",
		Doc:    shortTermDoc,
		Remote: true,
		once:   true,
		draw:   drawShortTerm,
	}
)

const shortTermDoc = lineDoc + " Read from the log of owners: how many of n workers hold the lock within n acquisitions in a row. 100 % is strict rotation. Upper dashed line: every owner is drawn by lot; lower: one worker takes the lock every time. A lock may share equally over a second and still serve one worker for a long time."

func drawShortTerm(g *group) picture {
	l := workersChart(g, metric.LWSS, shareScale)
	l.figure, l.yTitle, l.under = numfmt.Percent, "workers that hold the lock within n acquisitions, of n workers", drawReferences
	l.drop(func(s *series) bool { return s.Lock.Status == harness.Control })
	if len(l.lines) == 0 {
		return nothing("No lock of this run has a log of two or more owners, so nothing can be said of the order of turns.")
	}
	return l.picture(shortTermAnswer(g), shortTermTable(g))
}

// randomShare is the share of n workers that get the lock within n acquisitions if
// each owner is drawn uniformly at random.
func randomShare(n float64) float64 { return 100 * (1 - math.Pow(1-1/n, n)) }

// drawReferences draws the least possible share, and that of owners drawn uniformly
// at random.
func drawReferences(c draw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	var least, drawn []vg.Point
	for i := range 51 {
		x := p.X.Min * math.Pow(p.X.Max/p.X.Min, float64(i)/50)
		least = append(least, vg.Point{X: trX(x), Y: trY(min(100, 100/x))})
		drawn = append(drawn, vg.Point{X: trX(x), Y: trY(randomShare(max(1, x)))})
	}
	st := draw.LineStyle{Color: muted.rgba(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}
	c.StrokeLines(st, thin(least, 0.2))
	c.StrokeLines(st, thin(drawn, 0.2))
	if c.Size().X < width/3 {
		return // a small frame has no room for words; the figure's text says it
	}
	words := typeset(7.5, muted, draw.XRight, draw.YTop)
	c.FillText(words, vg.Point{X: least[15].X - 2, Y: least[15].Y - 2}, "1/n: one worker has it all")
	c.FillText(words, vg.Point{X: drawn[35].X, Y: drawn[35].Y - 3}, "at random")
}

func shortTermAnswer(g *group) string {
	w := 0 // the most workers of which the logs tell
	for _, n := range g.Workers {
		for _, s := range g.at(n) {
			if n <= g.Crowd() && s.Lock.Status != harness.Control && s.Cells[n].Summary(metric.LWSS).N > 0 {
				w = n
			}
		}
	}
	type share struct {
		s *series
		v float64
	}
	var all []share
	soon := 0 // better than at random
	for _, s := range g.at(w) {
		if v := s.Cells[w].Summary(metric.LWSS); v.N > 0 && s.Lock.Status != harness.Control {
			all = append(all, share{s, v.Median})
			if v.Lo > randomShare(float64(w)) {
				soon++
			}
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("With %s or fewer, no lock has a log of owners.", g.unit(g.Crowd()))
	}
	slices.SortStableFunc(all, func(a, b share) int { return cmp.Compare(b.v, a.v) })
	most, least := all[0], all[len(all)-1]
	text := fmt.Sprintf("Within %d acquisitions in a row, %s serves %s of %s", w, most.s.Lock.Name, numfmt.Percent(most.v), g.unit(w))
	if len(all) > 1 {
		text += fmt.Sprintf(" and %s %s", least.s.Lock.Name, numfmt.Percent(least.v))
	}
	text += "."
	if len(all) > 1 {
		text += fmt.Sprintf(" %d of %s serve more workers than owners drawn uniformly at random would (%s).", soon, numfmt.Plural(len(all), "lock"), numfmt.Percent(randomShare(float64(w))))
	}
	if v := least.s.Cells[w].Summary(metric.StreakP50); v.N > 0 && v.Median > 1 {
		text += fmt.Sprintf(" Half of the time of %s falls into streaks of more than %s acquisitions by one worker.", least.s.Lock.Name, numfmt.Number(v.Median-1))
	}
	return text
}

func shortTermTable(g *group) table {
	columns := []*metric.Metric{metric.StreakP50, metric.StreakP99, metric.Reacquire, metric.GapP50, metric.GapP99, metric.BypassP99, metric.Bypass}
	t := table{head: slices.Concat(titles("lock", "workers"), byName(metric.LWSS), titles("interval", "at random"), byName(columns...))}
	for _, s := range g.series {
		for _, w := range g.Workers {
			v := s.Cells[w].Summary(metric.LWSS)
			if v.N == 0 {
				continue
			}
			row := []string{s.Lock.Name, strconv.Itoa(w), numfmt.Percent(v.Median), interval(v, numfmt.Percent), numfmt.Percent(randomShare(float64(w)))}
			for _, m := range columns {
				row = append(row, cellText(m, s.Cells[w].Summary(m)))
			}
			t.rows = append(t.rows, row)
		}
	}
	return t
}

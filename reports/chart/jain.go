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
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// JainLocal and JainRemote draw Jain's fairness index over the number of
// workers.
var JainLocal, JainRemote = both(Chart{
	Name:    "fairness",
	Carries: true,
	Title:   "Does every worker get its turn?",
	Doc:     jainDoc,
	Draw:    drawJain,
}, "Does every worker of a distributed lock get its turn?")

const jainDoc = lineDoc + " An index of 40 % reads: as if 40 % of the workers shared the lock equally. Dashed: one worker has it all. It is taken within slices of one length, the mean of those of the window, because it rises with the length; where the axis says over the window, the run has no slices, and it must not be compared with runs whose windows are longer or shorter."

// fair is the least Jain's index, in percent, of a lock that counts as fair.
const fair = 95

func drawJain(g *Group) Picture {
	m := g.fairness()
	l := workersChart(g.compared(), m, draw.ShareScale)
	l.Figure, l.YTitle, l.Under = numfmt.Percent, fairnessTitles(m, g.Remote), oneOwner
	if len(l.Lines) == 0 {
		return nothing("No lock was measured with two or more workers, so there are no shares to compare.")
	}
	return ofLines(l, jainAnswer(g, m), jainTable(g, m), g.source(m))
}

// oneOwner draws the least possible index: one of n workers has everything.
func oneOwner(c vgdraw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	var pts []vg.Point
	for i := range 101 {
		x := p.X.Min * math.Pow(p.X.Max/p.X.Min, float64(i)/100)
		pts = append(pts, vg.Point{X: trX(x), Y: trY(min(100, 100/x))})
	}
	c.StrokeLines(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, draw.Thin(pts, 0.2))
	at := pts[30]
	if c.Size().X < draw.Width/3 {
		return // a small frame has no room; the figure's text explains the line
	}
	c.FillText(draw.Typeset(7.5, draw.Muted, vgdraw.XRight, vgdraw.YTop), vg.Point{X: at.X - 2, Y: at.Y - 2}, "1/n: one worker has it all")
}

func jainAnswer(g *Group, m *result.Metric) string {
	w := g.Crowd()
	type index struct {
		name string
		v    float64
	}
	var all []index
	var fairNames []string
	for _, s := range g.at(w) {
		v := s.Cells[w].Summary(m)
		if v.N == 0 || s.Lock.Status == harness.Control {
			continue
		}
		all = append(all, index{s.Lock.Name, v.Median})
		if v.Median >= fair {
			fairNames = append(fairNames, s.Lock.Name)
		}
	}
	if len(all) == 0 {
		return fmt.Sprintf("No lock was measured with %s, the most here.", g.unit(w))
	}
	worst := slices.MinFunc(all, func(a, b index) int { return cmp.Compare(a.v, b.v) })
	switch n := len(fairNames); {
	case n == len(all):
		return fmt.Sprintf("With %s, yes: every lock shares nearly equally (Jain %s or more).", g.unit(w), numfmt.Percent(worst.v))
	case n == 0:
		return fmt.Sprintf("With %s, no lock shares nearly equally (Jain %d %% or more). The least fair is %s (%s).",
			g.unit(w), fair, worst.name, numfmt.Percent(worst.v))
	default:
		return fmt.Sprintf("With %s, %d of %d locks share nearly equally (Jain %d %% or more): %s. The least fair is %s (%s).",
			g.unit(w), n, len(all), fair, numfmt.List(fairNames, 8), worst.name, numfmt.Percent(worst.v))
	}
}

func jainTable(g *Group, m *result.Metric) Table {
	columns := []*result.Metric{result.Starved, result.Unserved, result.BusyHalf, result.Spread, result.MinMax, result.StreakP50, result.StreakP99, result.LWSS, result.Reacquire, result.GapP50, result.GapP99, result.BypassP99, result.Bypass}
	columns = append(columns, g.known(result.RankJain, result.HostJain, result.RankLeast, result.HandoversWithin, result.HandoversRanks, result.HandoversHosts)...)
	t := Table{Head: slices.Concat(Titles("lock", "workers"), ByName(m), Titles("interval"), ByName(columns...))}
	for _, s := range g.Locks {
		for _, w := range g.Workers {
			v := s.Cells[w].Summary(m)
			if v.N == 0 {
				continue
			}
			row := []string{s.Lock.Name, strconv.Itoa(w), numfmt.Percent(v.Median), interval(v, numfmt.Percent)}
			for _, c := range columns {
				row = append(row, CellText(c, s.Cells[w].Summary(c)))
			}
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

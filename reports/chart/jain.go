package chart

import (
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

// JainLocal and JainRemote draw Jain's fairness index over the number of workers.
var JainLocal, JainRemote = both(Chart{
	Name:  "fairness",
	Title: "Does every worker get its turn?",
	Doc:   jainDoc,
	Draw:  drawJain,
}, "Does every worker of a distributed lock get its turn?")

const jainDoc = lineDoc + " An index of 40 % reads: as if 40 % of the workers shared the lock equally. Dashed: one worker has it all. It is taken within slices of one length, the mean of those of the window, because it rises with the length; where the axis says over the window, the run has no slices, and it must not be compared with runs whose windows are longer or shorter."

// fair is the least Jain's index, in percent, of a lock that counts as fair.
const fair = 95

func drawJain(g *Group) Picture {
	m := g.fairness()
	compared := *g
	compared.Locks = slices.DeleteFunc(slices.Clone(g.Locks), func(s *series) bool { return s.Lock.Status == harness.Control })
	l := workersChart(&compared, m, draw.ShareScale)
	l.Figure, l.YTitle, l.Under = numfmt.Percent, fairnessTitles(m, g.Remote), oneOwner
	if len(l.Lines) == 0 {
		return nothing("No lock was measured with two or more workers, so there are no shares to compare.")
	}
	return ofLines(l, jainAnswer(g, m), jainTable(g, m), g.source(m))
}

func oneOwner(c vgdraw.Canvas, p *plot.Plot) {
	trX, trY := p.Transforms(&c)
	var pts []vg.Point
	for i := range 101 {
		x := p.X.Min * math.Pow(p.X.Max/p.X.Min, float64(i)/100)
		pts = append(pts, vg.Point{X: trX(x), Y: trY(min(100, 100/x))})
	}
	c.StrokeLines(vgdraw.LineStyle{Color: draw.Muted.RGBA(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, draw.Thin(pts, 0.2))
}

func jainAnswer(g *Group, m *result.Metric) string {
	w := g.MostWorkers()
	all := g.figures(w, m)
	if len(all) == 0 {
		return fmt.Sprintf("No lock was measured with %s, the most here.", g.unit(w))
	}
	var names []string
	for _, f := range all {
		if f.v >= fair {
			names = append(names, f.name)
		}
	}
	slices.Sort(names)
	worst := all[len(all)-1]
	switch n := len(names); n {
	case len(all):
		return fmt.Sprintf("With %s, yes: every lock shares nearly equally (Jain %s or more).", g.unit(w), numfmt.Percent(worst.v))
	case 0:
		return fmt.Sprintf("With %s, no lock shares nearly equally (Jain %d %% or more). The least fair is %s.", g.unit(w), fair, worst.of(numfmt.Percent))
	default:
		return fmt.Sprintf("With %s, %d of %d locks share nearly equally (Jain %d %% or more): %s. The least fair is %s.",
			g.unit(w), n, len(all), fair, numfmt.List(names, 8), worst.of(numfmt.Percent))
	}
}

func jainTable(g *Group, m *result.Metric) Table {
	columns := []*result.Metric{result.Starved, result.Unserved, result.BusyHalf, result.Spread, result.MinMax, result.StreakP50, result.StreakP99, result.LWSS, result.Reacquire, result.GapP50, result.GapP99, result.BypassP99, result.Bypass}
	columns = append(columns, g.known(result.RankJain, result.HostJain, result.RankLeast, result.HandoversWithin, result.HandoversRanks, result.HandoversHosts)...)
	return g.table(m, withInterval(m.Name, m), metrics(columns...))
}

// fairness returns Jain's index for a picture of g: over slices of one length, or over the
// window if the run has none. A picture never mixes the two.
func (g *Group) fairness() *result.Metric {
	if g.has(result.Jain) {
		return result.Jain
	}
	return result.WindowJain
}

func fairnessTitles(m *result.Metric, remote bool) string {
	switch {
	case m == result.WindowJain:
		return "Jain index over the window, of any length (100 % = equal shares)"
	case remote:
		return "Jain index within 60 ms (100 % = equal shares)"
	}
	return "Jain index within 20 ms (100 % = equal shares)"
}

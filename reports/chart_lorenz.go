package reports

import (
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

// LorenzLocal and LorenzRemote draw which part of the workers gets which part
// of the acquisitions, at the greatest number of workers at which most locks
// were measured.
var (
	LorenzLocal = &Chart{
		Name:  "lorenz",
		Title: "What do the least served workers get?",
		Doc:   lorenzDoc,
		once:  true,
		draw:  drawLorenz,
	}
	LorenzRemote = &Chart{
		Name:   "lorenz-distributed",
		Title:  "What do the least served workers of a distributed lock get?",
		Doc:    lorenzDoc,
		Remote: true,
		once:   true,
		draw:   drawLorenz,
	}
)

const lorenzDoc = "Lorenz curve: the workers in order, least served first, and the share of the acquisitions that they have together; medians over the rounds of the worker at each place. On the dashed line all have the same. The figure beside a name is what the less served half gets. Gini, in the table: twice the area between curve and dashed line. Least fair lock first. (M. Lorenz, Publications of the ASA 9(70), 1905.)"

// A lorenz is the curve of one lock.
type lorenz struct {
	s    *series
	cum  []float64 // share, 0 to 1, of the i least served workers
	half float64   // at half of the workers, percent
	gini float64   // percent
}

// newLorenz returns the curve of bars, the shares of the workers in descending
// order; ok is false if they are no shares.
func newLorenz(s *series, bars []float64) (l lorenz, ok bool) {
	sum := 0.0
	for _, v := range bars {
		sum += v
	}
	if len(bars) < 2 || !(sum > 0) || math.IsInf(sum, 0) {
		return lorenz{}, false
	}
	l = lorenz{s: s, cum: []float64{0}}
	n := float64(len(bars))
	under := 0.0 // area under the curve
	for _, v := range slices.Backward(bars) {
		last := l.cum[len(l.cum)-1]
		next := min(1, last+v/sum)
		under += (last + next) / 2 / n
		l.cum = append(l.cum, next)
	}
	l.half, l.gini = 100*l.at(0.5), max(0, 100*(1-2*under))
	return l, true
}

// at returns what the share f of the workers, 0 to 1, has together.
func (l lorenz) at(f float64) float64 {
	x := f * float64(len(l.cum)-1)
	i := min(int(x), len(l.cum)-2)
	return l.cum[i] + (x-float64(i))*(l.cum[i+1]-l.cum[i])
}

// lorenzes returns the curves of the locks of g with w workers, least fair
// first.
func (g *group) lorenzes(w int) (out []lorenz) {
	for _, s := range g.at(w) {
		if s.Lock.Status == harness.Control || s.Cells[w].Summary(metric.WindowJain).N == 0 {
			continue
		}
		if l, ok := newLorenz(s, barsOf(s.Cells[w])); ok {
			out = append(out, l)
		}
	}
	slices.SortStableFunc(out, func(a, b lorenz) int {
		switch {
		case a.gini > b.gini:
			return -1
		case a.gini < b.gini:
			return 1
		}
		return a.s.look.compare(b.s.look)
	})
	return out
}

func drawLorenz(g *group) picture {
	ls := g.lorenzes(g.Crowd())
	if len(ls) == 0 {
		return nothing("No lock was measured with two or more workers, so there are no shares to compare.")
	}
	return picture{
		answer:  lorenzAnswer(g, ls),
		height:  panelsHeight(len(ls)),
		body:    func(c draw.Canvas) error { return lorenzBody(c, ls) },
		numbers: lorenzTable(ls),
		data:    g.fields("workers"),
	}
}

func lorenzAnswer(g *group, ls []lorenz) string {
	worst, best := ls[0], ls[len(ls)-1]
	text := fmt.Sprintf("With %s, the less served half of the workers of %s gets %s of its acquisitions",
		g.unit(g.Crowd()), worst.s.Lock.Name, numfmt.Percent(worst.half))
	if len(ls) > 1 {
		text += fmt.Sprintf(", that of %s %s", best.s.Lock.Name, numfmt.Percent(best.half))
	}
	return text + "; equal shares would be 50" + nb + "%."
}

func lorenzBody(c draw.Canvas, ls []lorenz) error {
	p := newPlot(0, 100, 0, 100)
	quarters := plot.ConstantTicks{{Value: 0, Label: "0"}, {Value: 50, Label: "50" + nb + "%"}, {Value: 100, Label: "100" + nb + "%"}}
	p.X.Tick.Marker, p.Y.Tick.Marker = quarters, quarters
	m := multiples{plot: p, notes: []note{{colour: ghost, line: true, text: "the other locks"}},
		yTitle: "share of the acquisitions", xTitle: "share of the workers, least served first"}
	if len(ls) == 1 {
		m.notes = nil
	}
	m.under = func(c draw.Canvas, p *plot.Plot) {
		gridlines(true)(c, p)
		trX, trY := p.Transforms(&c)
		c.StrokeLine2(draw.LineStyle{Color: muted.rgba(), Width: vg.Points(0.8), Dashes: []vg.Length{2, 2}}, trX(0), trY(0), trX(100), trY(100))
	}
	for _, l := range ls {
		trace := func(c draw.Canvas, p *plot.Plot) (pts []vg.Point) {
			trX, trY := p.Transforms(&c)
			for i, v := range l.cum {
				pts = append(pts, vg.Point{X: trX(100 * float64(i) / float64(len(l.cum)-1)), Y: trY(100 * v)})
			}
			return pts
		}
		m.panels = append(m.panels, panel{look: l.s.look, figure: "half: " + numfmt.Percent(l.half), trace: trace,
			draw: func(c draw.Canvas, p *plot.Plot) {
				pts := thin(trace(c, p), 0.1)
				c.FillPolygon(l.s.look.hue.alpha(44), append(slices.Clone(pts), pts[0]))
				c.StrokeLines(alone(l.s).look.line(), pts)
				trX, trY := p.Transforms(&c)
				l.s.look.mark(c, vg.Point{X: trX(50), Y: trY(l.half)})
			}})
	}
	return m.body(c)
}

func lorenzTable(ls []lorenz) table {
	t := table{head: titles("lock", "workers", "gini", "least served quarter", "half", "three quarters", "busiest tenth")}
	for _, l := range ls {
		t.rows = append(t.rows, []string{l.s.Lock.Name, strconv.Itoa(len(l.cum) - 1), numfmt.Percent(l.gini),
			numfmt.Percent(100 * l.at(0.25)), numfmt.Percent(l.half), numfmt.Percent(100 * l.at(0.75)), numfmt.Percent(100 * (1 - l.at(0.9)))})
	}
	return t
}

package reports

import (
	"fmt"
	"maps"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// GoodputLocal and GoodputRemote draw what locks grant over what they are asked for.
var (
	GoodputLocal = &Chart{
		Name:     "goodput",
		Title:    "Does the lock keep up with the offered load?",
		Doc:      goodputDoc,
		once:     true,
		optional: true,
		open:     true,
		draw:     drawGoodput,
	}
	GoodputRemote = &Chart{
		Name:     "goodput-distributed",
		Title:    "Does the distributed lock keep up with the offered load?",
		Doc:      goodputDoc,
		Remote:   true,
		once:     true,
		optional: true,
		open:     true,
		draw:     drawGoodput,
	}
)

const goodputDoc = lineDoc + " Grey diagonal: all that is asked for is granted. Open loops; with a deadline, what came after it is not counted."

// fewRates is how many rates are labelled each; more may stand close together.
const fewRates = 5

func drawGoodput(g *group) picture {
	s := g.loads()
	if s == nil {
		return noLoads(g)
	}
	l := &lineChart{place: "at", y: logScale, format: numfmt.SI, figure: numfmt.PerSecond, xScale: logarithm,
		xTitle: "acquisitions asked for, all workers together (log scale)", yTitle: "acquisitions granted per second (log scale)",
		data: source{metrics: []*metric.Metric{metric.Throughput}, rounds: []int{roundsOf(s.groups...)}}}
	for _, r := range s.rates {
		l.stops = append(l.stops, stop{float64(r), r.String()})
	}
	if len(s.rates) > fewRates {
		l.ticks = func(lo, hi float64) plot.ConstantTicks {
			return logTicks(lo, hi, func(v float64) string { return harness.Rate(v).String() })
		}
	}
	for _, x := range s.locks {
		l.add(x.s, func(i int) stat.Summary { return x.cells[i].Summary(metric.Throughput) })
	}
	if len(l.lines) == 0 {
		return nothing("No lock was acquired in an open loop.")
	}
	l.under = func(c draw.Canvas, p *plot.Plot) {
		trX, trY := p.Transforms(&c)
		lo, hi := max(p.X.Min, p.Y.Min), min(p.X.Max, p.Y.Max)
		if lo < hi {
			c.StrokeLine2(draw.LineStyle{Color: ghost.rgba(), Width: vg.Points(1), Dashes: []vg.Length{5, 3}}, trX(lo), trY(lo), trX(hi), trY(hi))
		}
	}
	pic := l.picture(s.goodputAnswer(), s.table())
	pic.load = s.load()
	return pic
}

// goodputAnswer says which locks keep up with the greatest load that they were asked for, and
// which of the others grants least of it.
func (s *loadSweep) goodputAnswer() string {
	var keep []string
	var least *loadedLock
	lasts := make(map[int]bool) // of the measured locks
	share := func(l *loadedLock) float64 { return l.cells[l.last()].Summary(metric.Goodput).Median }
	for _, l := range s.locks {
		if l.last() < 0 || l.s.Lock.Status == harness.Control {
			continue
		}
		lasts[l.last()] = true
		if share(l) >= metric.LeastGoodput {
			keep = append(keep, l.s.Lock.Name)
		} else if least == nil || share(l) < share(least) {
			least = l
		}
	}
	load := func(l *loadedLock) string { return s.rates[l.last()].String() }
	var text string
	switch alike := len(lasts) == 1; {
	case len(lasts) == 0:
		return "No lock was asked for any load."
	case least == nil && alike:
		last := slices.Collect(maps.Keys(lasts))[0]
		return fmt.Sprintf("Yes: asked for %v, the greatest load of this run, every lock grants %d %% or more.", s.rates[last], metric.LeastGoodput)
	case least == nil:
		return fmt.Sprintf("Yes: of the greatest load that each lock was asked for it grants %d %% or more.", metric.LeastGoodput)
	case alike:
		text = fmt.Sprintf("Asked for %s, the greatest load, %s grants least of it: %s (%s).", load(least), least.s.Lock.Name,
			numfmt.Percent(share(least)), numfmt.PerSecond(least.cells[least.last()].Summary(metric.Throughput).Median))
	default:
		text = fmt.Sprintf("Of the greatest load that each was asked for, %s grants least: %s of %s (%s).", least.s.Lock.Name,
			numfmt.Percent(share(least)), load(least), numfmt.PerSecond(least.cells[least.last()].Summary(metric.Throughput).Median))
	}
	if keep != nil {
		text += fmt.Sprintf(" At least %d %% grant: %s.", metric.LeastGoodput, numfmt.List(keep, 4))
	}
	return text
}

// last returns the number of the greatest rate at which l was measured, -1 if there is none.
func (l *loadedLock) last() int {
	for i, c := range slices.Backward(l.cells) {
		if c != nil {
			return i
		}
	}
	return -1
}

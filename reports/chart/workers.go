package chart

import (
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
	"locklab/internal/stat"
	"locklab/reports/draw"
)

const lineDoc = "Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. Hue: family; grey: the others; thin: a lock that is kept to show a bug, or the control."

// ThroughputLocal draws acquisitions per second over the number of workers.
var ThroughputLocal = &Chart{
	Name:  "throughput",
	Title: "Which lock keeps its throughput as workers are added?",
	Doc:   lineDoc,
	Draw: workersFigure{metric: result.Throughput, y: draw.LogScale, format: numfmt.SI, figure: numfmt.PerSecond,
		yTitle: "acquisitions per second, all workers together (log scale)",
		none:   "No lock was acquired in this run, so there is no throughput to draw.", answer: throughputAnswer, table: throughputTable}.draw,
	Guard: flat,
}

// HandoversRemote draws handovers per second over the number of workers. Acquisitions would
// flatter a lock whose owner takes it back while the others sleep between two polls.
var HandoversRemote = &Chart{
	Name:   "throughput-distributed",
	Title:  "Which distributed lock is handed over most often as workers are added?",
	Doc:    lineDoc + " A handover is an acquisition whose predecessor was another worker: one by the owner that takes the lock back does not count. The table has both.",
	Remote: true,
	Draw: workersFigure{metric: result.Handovers, y: draw.LogScale, format: numfmt.SI, figure: numfmt.PerSecond,
		yTitle: "handovers per second, all workers together (log scale)",
		none:   "No lock went from one worker to another in this run, so there is no handover to draw.", answer: extremesOf(result.Handovers, "no lock was handed over", "the most handovers", "the fewest", numfmt.PerSecond), table: throughputTable}.draw,
	Guard: flat,
}

// RequestsRemote draws the requests of an acquisition: a thundering herd is a rising line.
var RequestsRemote = &Chart{
	Name:   "requests-distributed",
	Title:  "How many requests does an acquisition cost as workers are added?",
	Doc:    lineDoc + " Counted at the clients, without keep-alives.",
	Remote: true,
	Draw: workersFigure{metric: result.Requests, y: draw.CountScale, format: numfmt.Number, figure: numfmt.Number,
		yTitle: "requests per acquisition",
		none:   "No request was counted in this run.", answer: extremesOf(result.Requests, "no requests were counted", "the most requests per acquisition", "the fewest", numfmt.Number), table: requestsTable}.draw,
	Guard: flat,
}

// A workersFigure is a figure of every lock over the number of workers.
type workersFigure struct {
	metric         *result.Metric
	y              draw.Scale
	yTitle         string
	format, figure func(v float64) string // of the axis and of a line's end
	none           string                 // the answer without a figure
	answer         func(g *Group) string
	table          func(g *Group) Table
}

// wideSpread is the ratio of counts above which a linear axis no longer separates locks.
const wideSpread = 20

func (f workersFigure) draw(g *Group) Picture {
	l := workersChart(g, f.metric, f.y)
	l.Format, l.Figure, l.YTitle = f.format, f.figure, f.yTitle
	if len(l.Lines) == 0 {
		return nothing("%s", f.none)
	}
	// With a herd on a linear axis, all other lines would lie on the axis.
	if logs := workersChart(g, f.metric, draw.LogScale); f.y == draw.CountScale && logs.Spread() > wideSpread {
		l.Y, l.Lines, l.YTitle = draw.LogScale, logs.Lines, l.YTitle+" (log scale)"
	}
	return ofLines(l, f.answer(g), f.table(g), g.source(f.metric))
}

// workersChart returns a chart of m over the workers of g; a log axis omits zero and less.
func workersChart(g *Group, m *result.Metric, y draw.Scale) *draw.Lines {
	l := overWorkers(g.Workers)
	l.Y = y
	if !g.Remote {
		l.Zone, l.ZoneText = beyondCPUs(g.CPUs)
	}
	for _, s := range g.Series {
		if y == draw.ShareScale && s.Lock.Status == harness.Control {
			continue // it has no shares
		}
		l.Add(s.Lock.Name, styleOf(s.Lock), func(i int) stat.Summary { return s.Cells[g.Workers[i]].Summary(m) })
	}
	return l
}

func overWorkers(ws []int) *draw.Lines {
	return &draw.Lines{XTitle: "workers contending for one lock (log scale)", XScale: draw.Logarithm, Place: "with", Stops: stopsAt(ws)}
}

func stopsAt(ns []int) []draw.Stop {
	return result.Each(ns, func(n int) draw.Stop { return draw.Stop{At: float64(n), Label: strconv.Itoa(n)} })
}

func beyondCPUs(cpus int) (from float64, text string) {
	return float64(cpus), fmt.Sprintf("more workers than CPUs (%d)", cpus)
}

func ofLines(l *draw.Lines, answer string, numbers Table, data Source) Picture {
	return Picture{Answer: answer, Numbers: numbers, Data: data, Picture: l.Drawn()}
}

func throughputAnswer(g *Group) string {
	first, last := g.Workers[0], g.Workers[len(g.Workers)-1]
	fs := slices.DeleteFunc(g.figures(last, result.Throughput), func(f figure) bool { return !(f.v > 0) })
	if len(fs) == 0 {
		return fmt.Sprintf("No lock was acquired with %s.", g.unit(last))
	}
	most := fmt.Sprintf("With %s, %s.", g.unit(last), extremes(fs, "the highest median", "the lowest", numfmt.PerSecond))
	var kept []figure // percent of the rate with the fewest workers
	for _, f := range fs {
		if a := g.cell(f.name, first).Summary(result.Throughput).Median; a > 0 {
			kept = append(kept, figure{name: f.name, v: 100 * f.v / a})
		}
	}
	if first == last || len(kept) < 2 {
		return most
	}
	sortFigures(kept)
	best, end, format := kept[0], kept[len(kept)-1], "From %s to %d, %s keeps most of its rate (%s) and %s least (%s). %s"
	switch {
	case math.Round(end.v) >= 100:
		format = "From %s to %d, no lock loses any of its rate: %s has most of it (%s) and %s least (%s). %s"
	case math.Round(best.v) >= 100:
		format = "From %s to %d, %s loses none of its rate (%s) and %s keeps least (%s). %s"
	}
	return fmt.Sprintf(format, g.unit(first), last, best.name, numfmt.Percent(best.v), end.name, numfmt.Percent(end.v), most)
}

func extremesOf(m *result.Metric, none, most, least string, format func(v float64) string) func(*Group) string {
	return func(g *Group) string {
		text := none
		if fs := g.figures(g.MostWorkers(), m); len(fs) > 0 {
			text = extremes(fs, most, least, format)
		}
		return fmt.Sprintf("With %s, %s.", g.unit(g.MostWorkers()), text)
	}
}

func throughputTable(g *Group) Table {
	columns := []*result.Metric{result.Time, result.CPU, result.Switches, result.Allocs,
		result.HandoverTime, result.HandoverTransfers, result.Hold, result.HoldShare, result.WaitShare, result.Overlap}
	if g.Remote {
		columns = []*result.Metric{result.Handovers, result.HandoverTime, result.Hold, result.HoldShare, result.WaitShare, result.Requests, result.Notifications, result.CPU, result.Overlap}
		columns = append(columns, g.inTrips(result.RoundTrip, result.PeriodRoundTrips, result.HandoverRoundTrips)...)
	}
	return g.table(nil, withInterval(result.Throughput.Unit, result.Throughput), metrics(columns...))
}

func requestsTable(g *Group) Table {
	return g.table(nil, withInterval(result.Requests.Unit, result.Requests), withInterval(result.Notifications.Unit, result.Notifications),
		inUnits(g.known(result.ServerCPU, result.ServerMemory, result.Connections)...), metrics(g.inTrips(result.PeriodRoundTrips, result.HandoverRoundTrips)...))
}

// JainLocal and JainRemote draw Jain's fairness index over the number of workers.
var JainLocal, JainRemote = both(Chart{
	Name:  "fairness",
	Title: "Does every worker get its turn?",
	Doc:   jainDoc,
	Draw:  drawJain,
	Guard: flat,
}, "Does every worker of a distributed lock get its turn?")

const jainDoc = lineDoc + " An index of 40 %: as if 40 % of the workers shared the lock equally. Dashed: one worker has it all. The figure is the mean of buckets of one length, because the index rises with the length. If the axis has \"over the window\", the run has no buckets, and its figures compare only with windows of the same length."

// fair is the least Jain's index, in percent, of a lock that counts as fair.
const fair = 95

func drawJain(g *Group) Picture {
	m := g.fairness()
	l := workersChart(g, m, draw.ShareScale)
	l.Figure, l.YTitle, l.Under = numfmt.Percent, fairnessTitles(m, g.Remote), oneOwner
	if len(l.Lines) == 0 {
		return nothing("No lock was measured with two or more workers, so there are no shares to compare.")
	}
	return ofLines(l, jainAnswer(g, m), jainTable(g, m), g.source(m))
}

func oneOwner(c vgdraw.Canvas, p *plot.Plot, _ string) {
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
		if math.Round(f.v) >= fair { // as it is printed
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

// fairness returns Jain's index for a picture of g: over buckets of one length, or over the
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

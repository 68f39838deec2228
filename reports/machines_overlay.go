package reports

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// An overlay is a figure of every lock over the number of workers, all machines in one
// frame.
type overlay struct {
	name, title string
	metric      *metric.Metric
	y           scale
	yTitle      string
	format      func(v float64) string
	most        bool   // the greatest figure is the best
	best        string // the meaning of the best figure
}

var overlays = []overlay{
	{"machines-throughput", "Does a lock keep its throughput on every machine?", metric.Throughput, logScale,
		"acquisitions per second, all workers together (log scale)", numfmt.PerSecond, true, "the highest rate"},
	{"machines-wait", "On which machine does a worker wait longest?", metric.P99, logScale,
		"wait that 99 in 100 do not exceed (log scale)", numfmt.Nanos, false, "the shortest p99 wait"},
	{"machines-fairness", "Is a lock as fair on every machine?", metric.Jain, shareScale,
		"", numfmt.Percent, true, "the fairest shares"},
}

const overlayDoc = "A frame a lock, a line a machine: hue, dash and marker. Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. Bold names are locks to use."

// draw draws o for the locks that machines of x share.
func (o overlay) draw(x *match) picture {
	if o.metric == metric.Jain {
		o.metric = x.fairness()
		o.yTitle = fairnessTitles(o.metric, x.remote)
	}
	l := &lineChart{xTitle: "workers contending for one lock (log scale)", xScale: logarithm, y: o.y, format: o.format, figure: o.format, yTitle: o.yTitle}
	if o.y == logScale && o.metric == metric.Throughput {
		l.format = numfmt.SI
	}
	if !x.remote {
		l.cpus = x.cpus
	}
	ws := x.workers()
	for _, w := range ws {
		l.stops = append(l.stops, stop{float64(w), strconv.Itoa(w)})
	}
	var panels []panel
	for _, s := range x.locks() {
		if s.Lock.Status == harness.Control {
			continue
		}
		before := len(l.lines)
		for i := range x.machines {
			l.add(x.machines[i].Name, x.looks[i], func(k int) stat.Summary {
				return x.cell(i, s.Lock.Name, ws[k]).Summary(o.metric)
			})
		}
		lines := l.lines[before:len(l.lines):len(l.lines)]
		if len(lines) > 0 {
			panels = append(panels, panel{name: s.Lock.Name, look: s.look,
				trace: func(draw.Canvas, *plot.Plot) []vg.Point { return nil },
				draw:  func(c draw.Canvas, p *plot.Plot) { l.draw(c, p, lines) }})
		}
	}
	if len(panels) == 0 {
		return nothing("No lock that two machines share has a figure here.")
	}
	return picture{answer: o.answer(x), numbers: o.table(x), data: x.source(o.metric),
		sketch: sketch{panelsHeight(len(panels)) + legendStep, func(c draw.Canvas) error { return o.body(c, x, l, panels) }}}
}

// legendStep is the height of the legend line.
const legendStep = vg.Length(18)

func (o overlay) body(c draw.Canvas, x *match, l *lineChart, panels []panel) error {
	m := multiples{plot: l.axes(), xTitle: l.xTitle, yTitle: l.yTitle, panels: panels}
	if p := m.plot; l.cpus >= 1 && float64(l.cpus) < p.X.Max {
		m.notes = append(m.notes, note{colour: warm, line: false, text: fmt.Sprintf("more workers than CPUs (%d)", l.cpus)})
	}
	m.under = func(c draw.Canvas, p *plot.Plot) {
		l.zone(c, p)
		gridlines(false)(c, p)
	}
	x.legend(c)
	return m.body(draw.Crop(c, 0, 0, 0, -legendStep))
}

// legend writes the legend of the machines at the top of c.
func (x *match) legend(c draw.Canvas) {
	at := c.Min.X
	st := typeset(labelSize, ink, draw.XLeft, draw.YCenter)
	room := (c.Size().X)/vg.Length(len(x.machines)) - 50
	for i, m := range x.machines {
		y := c.Max.Y - 5
		name := shorten(st, m.Name, max(room, 40))
		c.StrokeLine2(x.looks[i].line(), at, y, at+26, y)
		x.looks[i].mark(c, vg.Point{X: at + 13, Y: y})
		c.FillText(st, vg.Point{X: at + 32, Y: y}, name)
		at += 32 + st.Width(name) + 18
	}
}

// answer names the best lock of each machine with the most workers that all of them
// measured.
func (o overlay) answer(x *match) string {
	w := 0
	for _, n := range slices.Backward(x.workers()) {
		if !slices.ContainsFunc(x.groups, func(g *group) bool { return !slices.Contains(g.Workers, n) }) {
			w = n
			break
		}
	}
	var parts []string
	for i, m := range x.machines {
		best, name := math.NaN(), ""
		for _, s := range x.locks() {
			v := x.cell(i, s.Lock.Name, w).Summary(o.metric)
			if s.Lock.Status == harness.Control || unsound(s.Lock.Status) || v.N == 0 {
				continue
			}
			if name == "" || o.most == (v.Median > best) && v.Median != best {
				best, name = v.Median, s.Lock.Name
			}
		}
		if name != "" {
			parts = append(parts, fmt.Sprintf("on %s %s (%s)", m.Name, name, o.format(best)))
		}
	}
	if parts == nil {
		return "The machines share no number of workers at which a lock has this figure."
	}
	return fmt.Sprintf("With %s, of the locks that machines share, %s: %s.", numfmt.Plural(w, "worker"), o.best, strings.Join(parts, ", "))
}

func (o overlay) table(x *match) table {
	t := table{head: titles("lock", "workers")}
	for _, m := range x.machines {
		t.head = append(t.head, piece{Text: m.Name}, piece{Text: "interval"})
	}
	for _, s := range x.locks() {
		for _, w := range x.workers() {
			row, known := []string{s.Lock.Name, strconv.Itoa(w)}, false
			for i := range x.machines {
				v := x.cell(i, s.Lock.Name, w).Summary(o.metric)
				text := unknown
				if v.N > 0 {
					known = true
					text = o.format(v.Median)
				}
				if v.AtMost {
					text = "≤ " + text
				}
				row = append(row, text, interval(v, o.format))
			}
			if known {
				t.rows = append(t.rows, row)
			}
		}
	}
	return t
}

package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"

	"gonum.org/v1/plot/vg"
)

// An overlay is a figure of every lock over the number of workers, all machines in one frame.
type overlay struct {
	Name, Title string
	metric      *result.Metric
	y           draw.Scale
	yTitle      string
	format      func(v float64) string
	most        bool   // the greatest figure is the best
	best        string // the meaning of the best figure
}

var Overlays = []overlay{
	{"machines-throughput", "Does a lock keep its throughput on every machine?", result.Throughput, draw.LogScale,
		"acquisitions per second, all workers together (log scale)", numfmt.PerSecond, true, "the highest rate"},
	{"machines-wait", "On which machine does a worker wait longest?", result.P99, draw.LogScale,
		"wait that 99 in 100 do not exceed (log scale)", numfmt.Nanos, false, "the shortest p99 wait"},
	{"machines-fairness", "Is a lock as fair on every machine?", result.Jain, draw.ShareScale,
		"", numfmt.Percent, true, "the fairest shares"},
}

const OverlayDoc = "A frame a lock, a line a machine: hue, dash and marker. Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. "

// Draw draws o for the locks that machines of x share.
func (o overlay) Draw(x *Match) Picture {
	if o.metric == result.Jain {
		o.metric = x.fairness()
		o.yTitle = fairnessTitles(o.metric, x.Remote)
	}
	l := &draw.Lines{XTitle: "workers contending for one lock (log scale)", XScale: draw.Logarithm, Y: o.y, Format: o.format, Figure: o.format, YTitle: o.yTitle, Apart: true, Plain: true}
	if o.y == draw.LogScale && o.metric == result.Throughput {
		l.Format = numfmt.SI
	}
	if !x.Remote {
		l.Zone, l.ZoneText = beyondCPUs(x.cpus)
	}
	ws := x.Workers()
	l.Stops = stopsAt(ws)
	for i, m := range x.machines {
		st := draw.Typeset(8, draw.Muted, 0, 0)
		room := draw.Width/vg.Length(len(x.machines)+1) - 50 // one more for the zone
		l.Notes = append(l.Notes, draw.LineNote(x.styles[i], draw.Shorten(st, m.Name, max(room, 40))))
	}
	for _, s := range x.locks() {
		for i := range x.machines {
			if s.Lock.Status != harness.Control {
				l.AddTo(s.Lock.Name, x.machines[i].Name, x.styles[i], func(k int) stat.Summary {
					return x.groups[i].cell(s.Lock.Name, ws[k]).Summary(o.metric)
				})
			}
		}
	}
	if len(l.Lines) == 0 {
		return nothing("No lock that two machines share has a figure here.")
	}
	return ofLines(l, o.answer(x), o.table(x), x.source(o.metric))
}

func (o overlay) answer(x *Match) string {
	w := 0
	for _, n := range slices.Backward(x.Workers()) {
		if !slices.ContainsFunc(x.groups, func(g *Group) bool { return !slices.Contains(g.Workers, n) }) {
			w = n
			break
		}
	}
	shared := x.locks()
	var parts []string
	for i, m := range x.machines {
		fs := slices.DeleteFunc(x.groups[i].figures(w, o.metric), func(f figure) bool {
			return !slices.ContainsFunc(shared, func(s *series) bool { return s.Lock.Name == f.name && !Unsound(s.Lock.Status) })
		})
		if !o.most {
			slices.Reverse(fs)
		}
		if len(fs) > 0 {
			parts = append(parts, fmt.Sprintf("on %s %s", m.Name, fs[0].of(o.format)))
		}
	}
	if parts == nil {
		return "The machines share no number of workers at which a lock has this figure."
	}
	return fmt.Sprintf("With %s, of the locks that machines share, %s: %s.", numfmt.Plural(w, "worker"), o.best, strings.Join(parts, ", "))
}

func (o overlay) table(x *Match) Table {
	t := Table{Head: Titles("lock", "workers")}
	for _, m := range x.machines {
		t.Head = append(t.Head, Piece{Text: m.Name}, Piece{Text: "interval"})
	}
	for _, s := range x.locks() {
		for _, w := range x.Workers() {
			row, known := []string{s.Lock.Name, strconv.Itoa(w)}, false
			for i := range x.machines {
				v := x.groups[i].cell(s.Lock.Name, w).Summary(o.metric)
				text := numfmt.Unknown
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
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

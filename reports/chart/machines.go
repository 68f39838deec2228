package chart

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"

	"gonum.org/v1/plot/vg"
)

// A Machine is a run in a report of several.
type Machine struct {
	Name   string // unique
	Folder string // source of the run
	Run    *result.Run
}

// A Match is the groups of one workload and kind that several machines measured.
type Match struct {
	Remote bool
	Axes   string
	sides  []side
	cpus   int // of every machine, 0 if they differ
}

// A side is the group of a machine, with the style of the machine.
type side struct {
	*Group
	machine string
	style   draw.Style
}

// Matches returns the common workloads of the machines, local locks first, in their order.
func Matches(ms []Machine) (out []*Match) {
	for i, m := range ms {
		for _, g := range Groups(m.Run) {
			if g.Open() {
				continue
			}
			k := slices.IndexFunc(out, func(x *Match) bool { return x.Remote == g.Remote && x.Axes == g.Axes })
			if k < 0 {
				k = len(out)
				out = append(out, &Match{Remote: g.Remote, Axes: g.Axes, cpus: g.CPUs})
			}
			x := out[k]
			x.sides = append(x.sides, side{g, m.Name, ColumnStyle(i)})
			if g.CPUs != x.cpus {
				x.cpus = 0
			}
		}
	}
	out = slices.DeleteFunc(out, func(x *Match) bool { return len(x.sides) < 2 })
	last := map[bool]int{true: 1}
	slices.SortStableFunc(out, func(a, b *Match) int { return last[a.Remote] - last[b.Remote] })
	return out
}

// locks returns the locks that two machines share, without controls.
func (x *Match) locks() (out []*judge.Series) {
	seen := make(map[string]int)
	for _, g := range x.sides {
		for _, s := range g.Series {
			if seen[s.Lock.Name]++; seen[s.Lock.Name] == 2 && s.Lock.Status != harness.Control {
				out = append(out, s)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *judge.Series) int { return byFamily(a.Lock, b.Lock) })
	return out
}

func (x *Match) workers() []int {
	ws := slices.Concat(result.Each(x.sides, func(g side) []int { return g.Workers })...)
	slices.Sort(ws)
	return slices.Compact(ws)
}

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

// Overlays lists every chart of several machines.
var Overlays = []overlay{
	{"machines-throughput", "Does a lock keep its throughput on every machine?", result.Throughput, draw.LogScale,
		"acquisitions per second, all workers together (log scale)", numfmt.PerSecond, true, "the highest rate"},
	{"machines-wait", "On which machine does a worker wait longest?", result.MomentP99, draw.LogScale,
		"p99 of the wait that a worker is in at a random moment (log scale)", numfmt.Nanos, false, "the shortest p99 wait at a random moment"},
	{"machines-fairness", "Is a lock as fair on every machine?", result.Jain, draw.ShareScale,
		"", numfmt.Percent, true, "the fairest shares"},
}

// OverlayDoc explains the charts of several machines.
const OverlayDoc = "A frame a lock, a line a machine: hue, dash and marker. Line: median of the rounds; band: its 95 % order-statistic interval, or the range of the rounds if there are fewer than six. "

// Draw draws o for the locks that machines of x share.
func (o overlay) Draw(x *Match) Picture {
	if o.metric == result.Jain {
		if !slices.ContainsFunc(x.sides, func(g side) bool { return g.fairness() == result.Jain }) {
			o.metric = result.WindowJain
		}
		o.yTitle = fairnessTitles(o.metric, x.Remote)
	}
	ws := x.workers()
	l := overWorkers(ws)
	l.Y, l.YTitle, l.Format, l.Figure, l.Plain = o.y, o.yTitle, o.format, o.format, true
	if !x.Remote {
		l.Zone, l.ZoneText = beyondCPUs(x.cpus)
	}
	data := Source{Metrics: []*result.Metric{o.metric}}
	for _, g := range x.sides {
		room := draw.Width/vg.Length(len(x.sides)+1) - 50 // one more for the zone
		l.Notes = append(l.Notes, draw.LineNote(g.style, draw.Shorten(draw.Typeset(8, draw.Muted, 0, 0), g.machine, max(room, 40))))
		data.Rounds = append(data.Rounds, roundsOf(g.Group))
	}
	for _, s := range x.locks() {
		for _, g := range x.sides {
			l.Add(s.Lock.Name, g.style, func(k int) stat.Summary { return g.cell(s.Lock.Name, ws[k]).Summary(o.metric) })
		}
	}
	if len(l.Lines) == 0 {
		return nothing("No lock that two machines share has a figure here.")
	}
	return ofLines(l, o.answer(x), o.table(x), data).guarded(flat)
}

// answer names the best lock of each machine with the most workers that all have.
func (o overlay) answer(x *Match) string {
	w := 0
	for _, n := range x.workers() {
		if !slices.ContainsFunc(x.sides, func(g side) bool { return !slices.Contains(g.Workers, n) }) {
			w = n
		}
	}
	shared := x.locks()
	var parts []string
	for _, g := range x.sides {
		fs := slices.DeleteFunc(g.figures(w, o.metric), func(f figure) bool {
			return !slices.ContainsFunc(shared, func(s *judge.Series) bool { return s.Lock.Name == f.name })
		})
		if !o.most {
			slices.Reverse(fs)
		}
		if len(fs) > 0 {
			v := g.cell(fs[0].name, w).Summary(o.metric)
			parts = append(parts, fmt.Sprintf("on %s %s (%s)%s", g.machine, fs[0].name, medianText(v, o.format), fs[0].like(fs)))
		}
	}
	if parts == nil {
		return "The machines share no number of workers at which a lock has this figure."
	}
	return fmt.Sprintf("With %s, of the locks that machines share, %s: %s.", numfmt.Plural(w, "worker"), o.best, strings.Join(parts, "; "))
}

func (o overlay) table(x *Match) Table {
	t := Table{Head: Titles("lock", "workers")}
	for _, g := range x.sides {
		t.Head = append(t.Head, Titles(g.machine, "interval")...)
	}
	for _, s := range x.locks() {
		for _, w := range x.workers() {
			row, known := []string{s.Lock.Name, strconv.Itoa(w)}, false
			for _, g := range x.sides {
				v := g.cell(s.Lock.Name, w).Summary(o.metric)
				known = known || v.N > 0
				row = append(row, medianText(v, o.format), interval(v, o.format))
			}
			if known {
				t.Rows = append(t.Rows, row)
			}
		}
	}
	return t
}

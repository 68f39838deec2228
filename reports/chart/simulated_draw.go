package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// Chart returns f of every lock of m over the workers. Only filled marks are measured, and
// no line joins them.
func (m *Modelled) Chart(f modelFigure, yTitle string) *draw.Lines {
	l := &draw.Lines{
		XTitle: "workers, each on a hardware thread of its own (log scale)", XScale: draw.Logarithm, Place: "with",
		Y: draw.LogScale, YTitle: "simulated " + yTitle + " (log scale)", Format: f.format, Figure: f.format,
	}
	for _, w := range m.workers {
		l.Stops = append(l.Stops, draw.Stop{At: float64(w), Label: strconv.Itoa(w)})
	}
	l.Notes = append(l.Notes, draw.LineNote(draw.Style{Hue: draw.Blue, Dash: draw.ModelDashes[0], Marker: draw.ModelShapes[0], Hollow: true}, "simulated: dashed, hollow"))
	if m.Any(f) {
		l.Notes = append(l.Notes, draw.GlyphNote(draw.ModelShapes[0], "measured here: filled"))
		l.Apart, l.YTitle = true, yTitle+" (log scale)"
	}
	l.Zone, l.ZoneText = m.Border(), "beyond one socket"
	for _, x := range m.Locks {
		l.Add(x.Lock.Name, x.style, func(i int) stat.Summary { return f.At(x, m.workers[i]) })
	}
	for _, x := range m.Locks {
		l.AddTo(x.Lock.Name, "measured", draw.Style{Hue: x.style.Hue, Strong: x.style.Strong, Marker: draw.ModelShapes[0], Loose: true}, func(i int) stat.Summary {
			return f.measured(x, m.workers[i])
		})
	}
	return l
}

// A modelChart draws one question about a model's predictions for a machine.
type modelChart struct {
	Name  string
	title string // after "Simulated on MACHINE: "
	doc   string
	draw  func(m *Modelled) Picture

	folded bool // the page shows it when asked
}

const modelDoc = "Dashed line, hollow mark: simulated, the median of the seeds; band: the least and the greatest of them."

// measuredDoc explains the measured marks of a chart.
const measuredDoc = " Filled mark: measured, the median of the rounds with its interval, on the machine of the run; no line joins these."

// ModelCharts lists every chart of a model in the order of the report.
var ModelCharts = []modelChart{
	{"throughput", "which lock keeps its throughput as workers are added?", modelDoc, DrawModelRate, false},
	{"handover", "how long does a hand-over take?", modelDoc + " From a release to the grant of another worker that waited already: the mean, where a measured one is the median.",
		drawModelHandover, false},
	{"socket", "what does a second socket cost?", "Hollow marks: simulated. Circle: the most workers that one socket holds; square: the fewest beyond it; triangle: the most on two sockets. Hand-overs on the socket and remote misses, per acquisition, are those with the most.", drawModelSocket, false},
}

// DrawModelRate draws the simulated acquisitions per second of every lock of m.
func DrawModelRate(m *Modelled) Picture {
	l := m.Chart(ModelRate, "acquisitions per second")
	l.Format = numfmt.SI
	return m.picture(l, ModelRate, "the highest throughput", "the lowest")
}

func drawModelHandover(m *Modelled) Picture {
	return m.picture(m.Chart(modelHandover, "time from release to grant"), modelHandover, "the longest hand-over", "the shortest")
}

// picture returns l with an answer that names the locks with the most and the least of f at
// the most workers.
func (m *Modelled) picture(l *draw.Lines, f modelFigure, most, least string) Picture {
	if len(l.Lines) == 0 {
		return nothing("%s It has no such figure.", m.Warning())
	}
	w := m.Crowd()
	var fs []figure
	for _, x := range m.Locks {
		if v := f.At(x, w); v.N > 0 && !Unsound(x.Lock.Status) && v.Median > 0 {
			fs = append(fs, figure{x.Lock.Name, v.Median})
		}
	}
	slices.SortStableFunc(fs, func(a, b figure) int { return cmp.Compare(b.v, a.v) })
	answer := m.Warning()
	if len(fs) > 0 {
		answer += fmt.Sprintf(" The model expects with %s: %s.", numfmt.Plural(w, "worker"), extremes(fs, most, least, f.format))
	}
	if text := m.ErrorText(f); text != "" {
		answer += " " + text
	}
	data := Source{Fields: []string{f.field}, kind: "simulation"}
	if m.Any(f) {
		data.Metrics = append(data.Metrics, f.metric)
	}
	return ofLines(l, answer, f.table(m), data)
}

// Crowd returns the most workers with at least 3/4 of the greatest number of simulated locks.
func (m *Modelled) Crowd() int {
	n := make([]int, len(m.workers))
	for i, w := range m.workers {
		for _, l := range m.Locks {
			if l.at[w] != nil {
				n[i]++
			}
		}
	}
	most := slices.Max(n)
	for i, w := range slices.Backward(m.workers) {
		if 4*n[i] >= 3*most {
			return w
		}
	}
	return m.workers[len(m.workers)-1]
}

// A socketStep is a lock within one socket and across sockets.
type socketStep struct {
	*ModelledLock
	workers []int // the most in one socket, the fewest on two, the most on two
}

// socketSteps returns the locks simulated within and across sockets, by loss.
func (m *Modelled) socketSteps() (out []socketStep) {
	for _, l := range m.Locks {
		var in, over, two int
		for _, w := range m.workers {
			switch s := l.at[w]; {
			case s == nil || m.Like.Spread || w < 2:
			case m.sockets(s) == 1:
				in = w
			case m.sockets(s) == 2 && over == 0:
				over = w
			case m.sockets(s) == 2:
				two = w
			}
		}
		step := socketStep{l, []int{in, over, two}}
		if two == 0 {
			step.workers = step.workers[:2]
		}
		if in > 0 && over > 0 {
			out = append(out, step)
		}
	}
	slices.SortStableFunc(out, func(a, b socketStep) int { return cmp.Compare(a.ratio(len(a.workers)-1), b.ratio(len(b.workers)-1)) })
	return out
}

func (x socketStep) time(i int) float64 { return x.at[x.workers[i]].PerAcquisition.Median }

func (x socketStep) ratio(i int) float64 { return x.time(i) / x.time(0) }

func (x socketStep) last() *harness.Simulation { return x.at[x.workers[len(x.workers)-1]] }

// cells returns the figures of x: a ratio for each step beyond the socket, the share of
// handovers within a socket, and the misses that another socket answers.
func (x socketStep) cells() (out []string) {
	for i := range x.workers[1:] {
		out = append(out, ratioText(x.ratio(i+1)))
	}
	last := x.last()
	near := numfmt.Percent(100 * last.SameSocket.Median)
	if last.SameWorker.Median >= 1 {
		near = "none at all" // no handovers, so no share
	}
	return append(out, near, numfmt.Number(last.Remote.Median))
}

func drawModelSocket(m *Modelled) Picture {
	xs := m.socketSteps()
	if len(xs) == 0 {
		return nothing("%s It was not simulated on both sides of the border of a socket.", m.Warning())
	}
	// All rows have the same steps as the first; others are not comparable.
	xs = slices.DeleteFunc(xs, func(x socketStep) bool { return !slices.Equal(x.workers, xs[0].workers) })
	first, end := xs[0], xs[len(xs)-1]
	n := len(first.workers) - 1
	answer := fmt.Sprintf("%s With %d workers on two sockets an acquisition takes %s times as long as with %d on one with %s", m.Warning(),
		first.workers[n], ratioText(first.ratio(n)), first.workers[0], first.Lock.Name)
	if len(xs) > 1 {
		answer += fmt.Sprintf(", and %s times with %s", ratioText(end.ratio(n)), end.Lock.Name)
	}
	t := Table{Head: Titles("lock", "time within one socket", "time beyond it")}
	if n == 2 {
		t.Head = append(t.Head, Titles("time on two sockets", "beyond over within")...)
	}
	t.Head = append(t.Head, Titles(map[int]string{1: "beyond over within", 2: "two sockets over one"}[n], "hand-overs on the socket", "misses from another socket")...)
	for _, x := range xs {
		row := []string{x.Lock.Name}
		for i := range x.workers {
			row = append(row, numfmt.Nanos(x.time(i)))
		}
		t.Rows = append(t.Rows, append(row, x.cells()...))
	}
	return Picture{
		Answer: answer + ".", Numbers: t,
		Data:    Source{Fields: []string{"per_acquisition", "remote", "same_socket"}, kind: "simulation"},
		Picture: socketRows(xs),
	}
}

func socketRows(xs []socketStep) draw.Picture {
	counts := xs[0].workers
	r := draw.Rows{Title: "simulated time per acquisition, all workers together (log scale)",
		Notes: []draw.Note{draw.GlyphNote(draw.ModelShapes[0], fmt.Sprintf("simulated: %d workers, one socket", counts[0]))}}
	for i, w := range counts[1:] {
		r.Heads = append(r.Heads, fmt.Sprintf("%d over %d", w, counts[0]))
		r.Notes = append(r.Notes, draw.GlyphNote(draw.ModelShapes[i+1], fmt.Sprintf("%d workers, two sockets", w)))
	}
	r.Heads = append(r.Heads, "on the socket", "remote misses")
	var all []draw.Mark
	for _, x := range xs {
		var marks []draw.Mark
		for i := range x.workers {
			marks = append(marks, draw.Mark{Mid: x.time(i), Lo: x.time(i), Hi: x.time(i), Shape: draw.ModelShapes[i]})
		}
		all = append(all, marks...)
		r.Rows = append(r.Rows, draw.Row{Name: x.Lock.Name, Style: x.style, Marks: [][]draw.Mark{marks}, Figures: x.cells()})
	}
	lo, hi := draw.LogRange(draw.Reach(all))
	r.Panels = []draw.Scaled{{Lo: lo, Hi: hi, Log: true, Format: numfmt.Nanos}}
	return r.Drawn()
}

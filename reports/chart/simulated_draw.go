package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"

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
}

const modelDoc = "Dashed line, hollow mark: simulated, the median of the seeds; band: the least and the greatest of them."

// measuredDoc explains the measured marks of a chart.
const measuredDoc = " Filled mark: measured, the median of the rounds with its interval, on the machine of the run; no line joins these."

// ModelCharts lists every chart of a model in the order of the report.
var ModelCharts = []modelChart{
	{"throughput", "which lock keeps its throughput as workers are added?", modelDoc, DrawModelRate},
	{"handover", "how long does a hand-over take?", modelDoc + " From a release to the grant of another worker that waited already: the mean, where a measured one is the median.",
		drawModelHandover},
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

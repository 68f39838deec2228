package chart

import (
	"fmt"
	"slices"
	"strconv"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// A modelChart draws one figure of a model's predictions for a machine.
type modelChart struct {
	name, title, doc    string // the title follows "Simulated on MACHINE: "
	field               string // of the line
	of                  func(s *result.Simulation) result.Expected
	format              func(v float64) string
	yTitle, most, least string
}

const modelDoc = "Dashed line, hollow mark: simulated, the median of the seeds; band: the least and the greatest of them."

// modelCharts lists every chart of a model.
var modelCharts = []modelChart{
	{"throughput", "which lock keeps its throughput as workers are added?", modelDoc,
		"per_acquisition", (*result.Simulation).Throughput, numfmt.PerSecond,
		"acquisitions per second", "the highest throughput", "the lowest"},
	{"handover", "how long does a handover take?",
		modelDoc + " From a release to the grant of another worker that waited already: the mean, where a measured one is the median.",
		"handover", func(s *result.Simulation) result.Expected { return s.Handover }, numfmt.Nanos,
		"time from release to grant", "the longest handover", "the shortest"},
}

// at returns the figure of l with w workers as a summary; N is 0 without one.
func (c modelChart) at(l *ModelledLock, w int) stat.Summary {
	if s := l.at[w]; s != nil && c.of(s).Median != 0 {
		e := c.of(s)
		return stat.Summary{Median: e.Median, Lo: e.Lo, Hi: e.Hi, N: s.Seeds}
	}
	return stat.Summary{}
}

func (c modelChart) draw(m *Modelled) Picture {
	l := &draw.Lines{
		XTitle: "workers, each on a hardware thread of its own (log scale)", XScale: draw.Logarithm, Place: "with", Stops: stopsAt(m.workers),
		Y: draw.LogScale, YTitle: "simulated " + c.yTitle + " (log scale)", Format: c.format, Figure: c.format,
		Zone: m.Border(), ZoneText: "beyond one socket",
		Notes: []draw.Note{draw.LineNote(simulated(draw.Style{Hue: draw.Blue, Marker: vgdraw.CircleGlyph{}}), "simulated: dashed, hollow")},
	}
	t := Table{Head: Titles("lock", "workers", "simulated", "least of seeds", "greatest of seeds")}
	for _, x := range m.Locks {
		l.Add(x.Lock.Name, x.style, func(i int) stat.Summary { return c.at(x, m.workers[i]) })
		for _, w := range m.workers {
			if s := c.at(x, w); s.N > 0 {
				t.Rows = append(t.Rows, []string{x.Lock.Name, strconv.Itoa(w), c.format(s.Median), c.format(s.Lo), c.format(s.Hi)})
			}
		}
	}
	if len(l.Lines) == 0 {
		return nothing("%s It has no such figure.", m.Warning())
	}
	return ofLines(l, c.answer(m), t, Source{Fields: []string{c.field}, kind: "simulation"})
}

// answer names the locks with the most and the least at the most workers.
func (c modelChart) answer(m *Modelled) string {
	w := slices.Max(m.workers)
	var fs []figure
	for _, x := range m.Locks {
		if v := c.at(x, w); v.Median > 0 && x.Lock.Status.Competes() {
			fs = append(fs, figure{x.Lock.Name, v.Median})
		}
	}
	if len(fs) == 0 {
		return m.Warning()
	}
	sortFigures(fs)
	return fmt.Sprintf("%s The model expects with %s: %s.", m.Warning(), numfmt.Plural(w, "worker"), extremes(fs, c.most, c.least, c.format))
}

// SimulatedCharts returns the charts of ms that have something to draw. No two have the
// same name. All figures are simulated.
func SimulatedCharts(ms []*Modelled) (out []Named) {
	taken := make(map[string]bool)
	for i, m := range ms {
		slug := SlugOf(m.Like.Simulated)
		if i > 0 && ms[i-1].Like.Simulated == m.Like.Simulated { // a further workload of that machine
			slug += "-" + SlugOf(WorkloadOf(m.Like))
		}
		for n := 2; taken[slug]; n++ {
			slug = fmt.Sprintf("%s-%d", SlugOf(m.Like.Simulated), n)
		}
		taken[slug] = true
		for _, c := range modelCharts {
			pic := c.draw(m)
			if pic.Height == 0 {
				continue
			}
			out = append(out, Named{Name: "simulated-" + c.name + "-" + slug, Title: "Simulated on " + m.Name() + ": " + c.title,
				Doc: c.doc + " " + m.Accuracy() + " Workload: " + WorkloadOf(m.Like) + ".", Pic: pic, Model: m})
		}
	}
	return out
}

func MachinesOf(ms []*Modelled) (names []string) {
	for _, m := range ms {
		if !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	return names
}

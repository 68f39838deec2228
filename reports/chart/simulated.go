package chart

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/draw"
)

// A Modelled is a model's prediction for one machine and workload, without measurements.
type Modelled struct {
	Like    *result.Simulation // any of them: all share machine and workload
	workers []int              // ascending
	Locks   []*ModelledLock    // by name
	File    bool               // the run has the description of the machine
}

// A ModelledLock is a lock on that machine.
type ModelledLock struct {
	*result.Simulation                            // any of them
	at                 map[int]*result.Simulation // by workers
}

// ModelledOf returns the predictions of run, by machine and workload in the order of the file.
// For each machine, the workload with the most simulations is first.
func ModelledOf(run *result.Run) (out []*Modelled) {
	for _, on := range result.GroupBy(run.Simulations, func(s *result.Simulation) string { return s.Simulated }) {
		file := slices.ContainsFunc(run.Machines, func(m *result.ModelMachine) bool { return m.Name == on[0].Simulated })
		workloads := result.GroupBy(on, WorkloadOf)
		slices.SortStableFunc(workloads, func(a, b []*result.Simulation) int { return len(b) - len(a) })
		for _, of := range workloads {
			m := &Modelled{Like: of[0], File: file, workers: Distinct(of, func(s *result.Simulation) int { return s.Workers })}
			slices.Sort(m.workers)
			for _, by := range result.GroupBy(of, func(s *result.Simulation) string { return s.Lock.Name }) {
				l := &ModelledLock{by[0], make(map[int]*result.Simulation)}
				for _, s := range by {
					l.at[s.Workers] = s
				}
				m.Locks = append(m.Locks, l)
			}
			slices.SortFunc(m.Locks, func(a, b *ModelledLock) int { return strings.Compare(a.Lock.Name, b.Lock.Name) })
			out = append(out, m)
		}
	}
	return out
}

// WorkloadOf describes the workload of s: "lines=1 hold=100ns think=0s wait=pause".
func WorkloadOf(s *result.Simulation) string {
	text := fmt.Sprintf("lines=%d hold=%s think=%s wait=%s", s.Lines, briefly(s.Hold), briefly(s.Think), s.Wait)
	if s.Apart && s.SMT > 1 {
		text += " apart"
	}
	if s.Spread {
		text += " spread"
	}
	return text
}

func briefly(ns float64) string {
	if ns == 0 {
		return "0s"
	}
	return strings.ReplaceAll(numfmt.Nanos(ns), numfmt.Space, "")
}

// Name returns the name of the machine: "skylake-8x32 (hypothetical)".
func (m *Modelled) Name() string {
	if m.Like.Hypothetical {
		return m.Like.Simulated + " (hypothetical)"
	}
	return m.Like.Simulated
}

// Shape describes the structure of the machine.
func (m *Modelled) Shape() string {
	s := m.Like
	text := numfmt.Plural(s.Sockets, "socket") + " of " + numfmt.Plural(s.Clusters*s.Cores, "core")
	if s.Clusters > 1 {
		text += fmt.Sprintf(" in %d clusters", s.Clusters)
	}
	if s.SMT > 1 {
		text += fmt.Sprintf(", %d hardware threads a core", s.SMT)
	}
	return text
}

// Accuracy describes the model's error, once for all locks with the same text.
func (m *Modelled) Accuracy() string {
	text := func(l *ModelledLock) string {
		return numfmt.Sentence(cmp.Or(l.Accuracy, "no published measurement was compared with this model"))
	}
	groups := result.GroupBy(m.Locks, text)
	if len(groups) == 1 {
		return "Accuracy: " + text(m.Locks[0])
	}
	out := "Accuracy."
	for _, of := range groups {
		names := result.Each(of, func(l *ModelledLock) string { return l.Lock.Name })
		out += " For " + numfmt.List(names, 5) + ": " + text(of[0])
	}
	return out
}

// Warning notes that nothing of m was measured.
func (m *Modelled) Warning() string {
	if m.Like.Hypothetical {
		return "Simulated on a hypothetical machine: no machine of this size was measured."
	}
	return "Simulated, not measured."
}

// Border returns the position on the axis where the second socket gets its first worker, or 0.
func (m *Modelled) Border() float64 {
	switch {
	case m.Like.Sockets < 2 || m.Like.Spread:
		return 0
	case m.Like.Apart:
		return float64(m.Like.Clusters*m.Like.Cores) + 0.5
	}
	return float64(m.Like.Threads()/m.Like.Sockets) + 0.5
}

// A modelChart draws one figure of a model's predictions for a machine.
type modelChart struct {
	name, title, doc    string // the title follows "Simulated on MACHINE: "
	field               string // of the line
	of                  func(s *result.Simulation) result.Expected
	format              func(v float64) string
	yTitle, most, least string
}

const modelDoc = "Dashed line, hollow mark: simulated, the median of the seeds; band: the least and the greatest of them."

var modelCharts = []modelChart{
	{"throughput", "which lock keeps its throughput as workers are added?", modelDoc,
		"per_acquisition", (*result.Simulation).Throughput, numfmt.PerSecond,
		"acquisitions per second", "the highest throughput", "the lowest"},
	{"handover", "how long does a handover take?",
		modelDoc + " A handover lasts from a release to the grant of another worker that already waited. The model gives the mean, a measurement the median.",
		"handover", func(s *result.Simulation) result.Expected { return s.Handover }, numfmt.Nanos,
		"time from release to grant", "the longest handover", "the shortest"},
}

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
		l.Add(x.Lock.Name, simulated(styleOf(x.Lock)), func(i int) stat.Summary { return c.at(x, m.workers[i]) })
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
			fs = append(fs, figure{name: x.Lock.Name, v: v.Median})
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
			pic := c.draw(m).guarded(flat)
			if pic.Numbers.Rows == nil {
				continue
			}
			out = append(out, Named{Name: "simulated-" + c.name + "-" + slug, Title: "Simulated on " + m.Name() + ": " + c.title,
				Doc: c.doc + " " + m.Accuracy() + " Workload: " + WorkloadOf(m.Like) + ".", Pic: pic, Model: m})
		}
	}
	return out
}

func MachinesOf(ms []*Modelled) []string { return Distinct(ms, (*Modelled).Name) }

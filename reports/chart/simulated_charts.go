package chart

import (
	"fmt"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A SimulatedChart is a chart of a model's predictions for one machine and workload.
type SimulatedChart struct {
	Name string // of a file
	Of   *Modelled
	modelChart
	Pic Picture
}

// SimulationCharts returns the names of the charts of simulated machines, for [WritePNG] and
// [WriteSVG]. All figures are simulated, except marks labelled as measured.
func SimulationCharts(run *result.Run) (names []string) {
	run = Sanitize(run)
	for _, c := range SimulatedCharts(ModelledOf(run, Groups(run))) {
		names = append(names, c.Name)
	}
	return names
}

// SimulatedCharts returns the charts of ms that have something to draw. No two have the
// same name.
func SimulatedCharts(ms []*Modelled) (out []SimulatedChart) {
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
		for _, c := range ModelCharts {
			if pic := c.draw(m); pic.Height > 0 {
				out = append(out, SimulatedChart{"simulated-" + c.Name + "-" + slug, m, c, pic})
			}
		}
	}
	return out
}

// Titled returns the title of c, with the simulated machine.
func (c SimulatedChart) Titled() string { return "Simulated on " + c.Of.Name() + ": " + c.title }

// Note explains how to read c, and the accuracy of the model.
func (c SimulatedChart) Note() string {
	doc := c.doc
	if c.Pic.Data.Metrics != nil {
		doc += measuredDoc
	}
	return doc + " " + c.Of.Accuracy() + " Workload: " + WorkloadOf(c.Of.Like) + "."
}

func (m *Modelled) DrawnLocks() string { return numfmt.Plural(len(m.Locks), "lock") }

func MachinesOf(ms []*Modelled) (names []string) {
	for _, m := range ms {
		if !slices.Contains(names, m.Name()) {
			names = append(names, m.Name())
		}
	}
	return names
}

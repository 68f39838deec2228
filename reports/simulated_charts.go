package reports

import (
	"fmt"
	"slices"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A simulatedChart is a chart of a model's predictions for one machine and workload.
type simulatedChart struct {
	name string // of a file
	of   *modelled
	modelChart
	pic picture
}

// SimulationCharts returns the names of the charts of simulated machines, or nothing
// without a simulation. [WritePNG] and [WriteSVG] accept them like the names of [Suite].
// All their figures are simulated, except marks that are labelled as measured.
func SimulationCharts(run *result.Run) (names []string) {
	run = tidy(run)
	for _, c := range simulatedCharts(modelledOf(run, groups(run))) {
		names = append(names, c.name)
	}
	return names
}

// simulatedCharts returns the charts of ms that have something to draw. No two have the
// same name.
func simulatedCharts(ms []*modelled) (out []simulatedChart) {
	taken := make(map[string]bool)
	for i, m := range ms {
		slug := slugOf(m.like.Simulated)
		if i > 0 && ms[i-1].like.Simulated == m.like.Simulated { // a further workload of that machine
			slug += "-" + slugOf(workloadOf(m.like))
		}
		for n := 2; taken[slug]; n++ {
			slug = fmt.Sprintf("%s-%d", slugOf(m.like.Simulated), n)
		}
		taken[slug] = true
		for _, c := range modelCharts {
			if pic := c.draw(m); pic.height > 0 {
				out = append(out, simulatedChart{"simulated-" + c.name + "-" + slug, m, c, pic})
			}
		}
	}
	return out
}

// titled returns the title of c, with the simulated machine.
func (c simulatedChart) titled() string { return "Simulated on " + c.of.name() + ": " + c.title }

// note explains how to read c, and the accuracy of the model.
func (c simulatedChart) note() string {
	doc := c.doc
	if c.pic.data.metrics != nil {
		doc += measuredDoc
	}
	return doc + " " + c.of.accuracy() + " Workload: " + workloadOf(c.of.like) + "."
}

func (c simulatedChart) standalone(run *result.Run) page {
	return page{title: c.titled(), answer: c.pic.answer, note: c.note(), data: plain(c.pic.data.sentence()), foot: c.foot(run), pic: c.pic}
}

// foot names the simulated machine, and the measured machine if c has measured marks.
func (c simulatedChart) foot(run *result.Run) string {
	text := "simulated: " + c.of.name() + ", " + c.of.shape()
	if c.pic.data.metrics != nil {
		return text + "; measured: " + origin(run)
	}
	if commit := run.Manifest.Commit; commit != "" {
		text += " · locklab " + commit
	}
	return text
}

func (m *modelled) drawnLocks() string { return numfmt.Plural(len(m.locks), "lock") }

func machinesOf(ms []*modelled) (names []string) {
	for _, m := range ms {
		if !slices.Contains(names, m.name()) {
			names = append(names, m.name())
		}
	}
	return names
}

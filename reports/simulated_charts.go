package reports

import (
	"fmt"
	"slices"

	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
)

// A simulatedChart is a chart of what a model expects of one machine under one workload.
type simulatedChart struct {
	name string // of a file
	of   *modelled
	modelChart
	pic picture
}

// SimulationCharts returns the names of the charts of what models of machines expect,
// none if nothing was simulated; [WritePNG] and [WriteSVG] take them like those of
// [Suite]. Nothing in them was measured, but for marks that say so.
func SimulationCharts(run *resultfile.Run) (names []string) {
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

// titled returns the title of c, which says that it is simulated, and of what.
func (c simulatedChart) titled() string { return "Simulated on " + c.of.name() + ": " + c.title }

// note says how to read c, and how good the model is.
func (c simulatedChart) note() string {
	doc := c.doc
	if c.pic.data.metrics != nil {
		doc += measuredDoc
	}
	return doc + " " + c.of.accuracy() + " Workload: " + workloadOf(c.of.like) + "."
}

// standalone returns the page of c.
func (c simulatedChart) standalone(run *resultfile.Run) page {
	return page{title: c.titled(), answer: c.pic.answer, note: c.note(), data: plain(c.pic.data.sentence()), foot: c.foot(run), pic: c.pic}
}

// foot says on what c was simulated. Where it has measured marks it says on what those
// were measured.
func (c simulatedChart) foot(run *resultfile.Run) string {
	text := "simulated: " + c.of.name() + ", " + c.of.shape()
	if c.pic.data.metrics != nil {
		return text + "; measured: " + origin(run)
	}
	if commit := run.Manifest.Commit; commit != "" {
		text += " · locklab " + commit
	}
	return text
}

// drawnLocks returns how many locks m has, for a sentence.
func (m *modelled) drawnLocks() string { return numfmt.Plural(len(m.locks), "lock") }

// machinesOf returns the names of the machines of ms.
func machinesOf(ms []*modelled) (names []string) {
	for _, m := range ms {
		if !slices.Contains(names, m.name()) {
			names = append(names, m.name())
		}
	}
	return names
}

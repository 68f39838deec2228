package reports

import (
	"fmt"
	"slices"
	"strconv"

	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// composeSimulated returns a section for each machine and workload of the simulations of
// run. gs are its groups.
func composeSimulated(run *result.Run, gs []*group) (out []section, err error) {
	charts := simulatedCharts(modelledOf(run, gs))
	for i, c := range charts {
		if i == 0 || c.of != charts[i-1].of {
			n := strconv.Itoa(len(out) + 1)
			out = append(out, section{ID: "simulated-" + n, Title: "What a model expects on " + c.of.name() + " (simulated)", Intro: c.of.about()})
			if i > 0 && c.of.like.Simulated == charts[i-1].of.like.Simulated {
				out[len(out)-1].Title += ", " + workloadOf(c.of.like)
				out[len(out)-1].Folded = true
			}
		}
		s := &out[len(out)-1]
		f, err := c.pic.figure(c.name, c.name, c.titled(), c.note())
		if err != nil {
			return nil, err
		}
		f.Folded = !c.carries
		s.Figures = append(s.Figures, f)
	}
	return out, nil
}

// about describes machine m and the model.
func (m *modelled) about() string {
	text := fmt.Sprintf("%s %s has %s. The code of %s ran on a model of caches and a directory; docs/simulation.md says what that carries and what it cannot say.",
		m.warning(), m.begin(), m.shape(), m.drawnLocks())
	if m.paired() {
		text += " The threads of a core have workers before the next core has one."
	}
	if m.file {
		text += " The machine, with the source of each of its numbers, is in results.jsonl (kind machine)."
	}
	return text
}

// expectedText is the only sentence of a verdict about models' predictions. It is separate
// from the measurements and has no effect on the verdict. It is "" if no other machine was
// simulated.
func expectedText(run *result.Run) string {
	var m *modelled // the largest machine; the run's own machine was measured
	for _, x := range modelledOf(run, nil) {
		if x.like.Simulated != thisMachine && (m == nil || x.like.Threads() > m.like.Threads()) {
			m = x
		}
	}
	if m == nil {
		return ""
	}
	w := m.crowd()
	least, name := 0.0, ""
	for _, l := range m.locks {
		if v := modelRate.at(l, w); v.N > 0 && v.Median > least && !unsound(l.Lock.Status) {
			least, name = v.Median, l.Lock.Name
		}
	}
	if name == "" {
		return ""
	}
	return fmt.Sprintf("Expected by model, not measured and not part of the verdict: with %s on %s (%s), %s has the highest throughput of %s, %s.",
		numfmt.Plural(w, "worker"), m.name(), m.shape(), name, m.drawnLocks(), numfmt.PerSecond(least))
}

// simulatedOrigin describes the source of the figures of a run without measurements.
func simulatedOrigin(run *result.Run) string {
	text := "Nothing was measured in this run: all figures are simulated, of " + numfmt.List(machinesOf(modelledOf(run, nil)), 6)
	if commit := run.Manifest.Commit; commit != "" {
		text += " · locklab " + commit
	}
	return text
}

// simulatedOnly turns doc into the report of a run without measurements: the host that
// computed the model does not affect the figures.
func (doc *document) simulatedOnly(run *result.Run) {
	doc.Title, doc.Origin, doc.Expected = simulatedTitle, simulatedOrigin(run), ""
	doc.Quality = quality{Partial: doc.Quality.Partial, Damage: doc.Quality.Damage}
	doc.Facts = nil
	for _, m := range modelledOf(run, nil) {
		f := fact{"simulated machine", m.name() + ": " + m.shape()}
		if !slices.Contains(doc.Facts, f) {
			doc.Facts = append(doc.Facts, f)
		}
	}
	doc.Facts = append(doc.Facts, fact{"measured", "nothing"})
	if run.Manifest.Commit != "" {
		doc.Facts = append(doc.Facts, fact{"locklab", run.Manifest.Commit})
	}
}

// simulatedTitle is the title of a report without measurements.
const simulatedTitle = "What does a model expect of these locks?"

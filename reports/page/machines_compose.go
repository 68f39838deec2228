package page

import (
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

func draftMatch(x *chart.Match, id string, folded bool) section {
	s := section{ID: "machines-" + id, Title: kind(x.Remote) + ", " + x.Axes, Slug: chart.SlugOf(x.Axes), Folded: folded}
	suffix := map[bool]string{true: "-distributed"}[x.Remote]
	for i, o := range chart.Overlays {
		if folded && i > 0 {
			break
		}
		s.Figures = append(s.Figures, newFigure(chart.Named{Name: o.Name + suffix, Title: o.Title, Doc: chart.OverlayDoc, Pic: o.Draw(x)}, o.Name+"-"+id))
	}
	return s
}

// A machinesDocument is the data of the template for several machines.
type machinesDocument struct {
	Title, Origin string
	Verdicts      chart.Table
	Table         chart.Table
	Differences   []harness.Warning
	Machines      []*document // without charts
	Sections      []section
	glossary
}

func composeMachines(ms []chart.Machine) *machinesDocument {
	doc := &machinesDocument{Title: "Which lock on which machine?"}
	var origins, names []string
	var facts, verdicts [][]fact
	for _, m := range ms {
		one := outline(m.Run)
		one.Name, one.Measured = m.Name, true
		names, facts, verdicts = append(names, m.Name), append(facts, append(one.Facts, fact{"folder", m.Folder})), append(verdicts, verdictFacts(one))
		doc.Machines = append(doc.Machines, one)
		origins = append(origins, m.Name+": "+m.Run.Manifest.Machine.String())
	}
	doc.Origin = strings.Join(origins, "; ")
	doc.Table, doc.Verdicts = sideBySide("machine", names, facts), sideBySide("situation", names, verdicts)
	doc.Differences = differences(ms, doc.Table)
	xs := chart.Matches(ms)
	for i, x := range xs {
		folded := i > 0 && xs[i-1].Remote == x.Remote // of each kind the first is open
		if folded && len(doc.Sections) > mostFolded {
			continue
		}
		doc.Sections = append(doc.Sections, draftMatch(x, strconv.Itoa(i), folded))
	}
	slices.SortStableFunc(doc.Sections, func(a, b section) int { return map[bool]int{true: 1}[a.Folded] - map[bool]int{true: 1}[b.Folded] })
	if doc.Sections != nil {
		doc.glossary = newGlossary(ms[0].Run)
	}
	return doc
}

func verdictFacts(m *document) (out []fact) {
	for _, d := range m.Decisions {
		cell := "no recommendation"
		if d.Use != "" {
			cell = d.Use + ", " + chart.Estimated(d)
		}
		out = append(out, fact{requirement(d) + ", " + d.Situation.Workload(), cell})
	}
	return out
}

// Headline counts the differences.
func (d *machinesDocument) Headline() string {
	return "Settings and coverage: " + numfmt.Plural(len(d.Differences), "difference") + " between the runs"
}

// Shared returns the note for machines without common cases.
func (d *machinesDocument) Shared() string {
	if d.Sections == nil {
		return "No two of these runs measured the same workload, so there is nothing to draw side by side."
	}
	return ""
}

package page

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// Machines returns a report of several runs, compared with the first. The error wraps
// harness.ErrUsage if there are fewer than two.
func Machines(runs []*result.Run, folders []string) (*Document, error) {
	if len(runs) < 2 {
		return nil, fmt.Errorf("reports: %w: a report of several machines needs two, got %d", harness.ErrUsage, len(runs))
	}
	return &Document{form: "machines", data: composeMachines(nameMachines(runs, folders))}, nil
}

// nameMachines names each run by the first unique one of host, folder and full path.
func nameMachines(runs []*result.Run, folders []string) []chart.Machine {
	out := make([]chart.Machine, len(runs))
	for i, run := range runs {
		out[i] = chart.Machine{Folder: result.OneLine(folders[i]), Run: chart.Sanitize(run)}
	}
	for _, name := range []func(m chart.Machine) string{
		func(m chart.Machine) string { return m.Run.Manifest.Machine.Host },
		func(m chart.Machine) string { return filepath.Base(m.Folder) },
		func(m chart.Machine) string { return m.Folder },
	} {
		seen := make(map[string]bool)
		for i := range out {
			out[i].Name = name(out[i])
			seen[out[i].Name] = true
		}
		if len(seen) == len(out) && !seen[""] {
			return out
		}
	}
	for i := range out {
		out[i].Name = fmt.Sprintf("%s (%d)", out[i].Name, i+1)
	}
	return out
}

// settings are the facts that should be the same on all machines, with the remedy.
var settings = []fact{
	{"system", "Another kernel schedules and wakes differently."},
	{"GOMAXPROCS", "Set the same one, unless you compare numbers of processors."},
	{"CPU limit", "Give the containers the same."},
	{"governor", "Set the same one, performance if you can."},
	{"turbo", "Switch it off on all of them."},
	{"Go", "Build with the same version."},
	{"locklab", "Build all of them from the same commit."},
	{harness.KindRedis, "Install the same version."},
	{harness.KindZooKeeper, "Install the same version."},
	{"measured", "Use the same --rounds and --duration."},
}

// sideBySide returns a table with a column for each machine and a row for each fact's name.
func sideBySide(title string, names []string, facts [][]fact) chart.Table {
	t := chart.Table{Head: chart.Titles(append([]string{title}, names...)...)}
	for i, fs := range facts {
		at := -1
		for _, f := range fs {
			before := at
			if at = slices.IndexFunc(t.Rows, func(row []string) bool { return row[0] == f.Name }); at < 0 {
				at = before + 1
				t.Rows = slices.Insert(t.Rows, at, append([]string{f.Name}, slices.Repeat([]string{numfmt.Unknown}, len(facts))...))
			}
			t.Rows[at][i+1] = f.Value
		}
	}
	return t
}

// differences compares ms by their facts, a row for each, and by their results.
func differences(ms []chart.Machine, facts chart.Table) (out []machine.Warning) {
	for _, s := range settings {
		i := slices.IndexFunc(facts.Rows, func(row []string) bool { return row[0] == s.Name })
		if i < 0 || len(slices.Compact(slices.Clone(facts.Rows[i][1:]))) == 1 {
			continue
		}
		var values []string
		for k, v := range facts.Rows[i][1:] {
			values = append(values, v+" on "+ms[k].Name)
		}
		out = append(out, machine.Warning{Text: numfmt.Sentence(s.Name + ": " + strings.Join(values, "; ")), Remedy: s.Value})
	}
	for _, m := range ms {
		if n := len(m.Run.Simulations); n > 0 {
			out = append(out, machine.Warning{
				Text:   fmt.Sprintf("%s has %s, which are not shown here: only what was measured is compared.", m.Name, numfmt.Plural(n, "simulation")),
				Remedy: "Its own report draws them."})
		}
	}
	return append(out, coverage(ms)...)
}

// coverage finds the cases that some machine lacks, and the locks that broke a promise.
func coverage(ms []chart.Machine) (out []machine.Warning) {
	on := make(map[string][]string) // the machines of each case
	for _, m := range ms {
		for _, r := range m.Run.Results {
			name := r.Lock.Name + " with " + strings.ReplaceAll(r.Workload.Name(), "/", " ")
			if !slices.Contains(on[name], m.Name) {
				on[name] = append(on[name], m.Name)
			}
		}
	}
	cases := slices.Sorted(maps.Keys(on))
	for _, m := range ms {
		missing := slices.DeleteFunc(slices.Clone(cases), func(name string) bool { return slices.Contains(on[name], m.Name) })
		if len(missing) > 0 {
			out = append(out, machine.Warning{
				Text:   fmt.Sprintf("Not measured on %s, but elsewhere: %s.", m.Name, numfmt.List(missing, 4)),
				Remedy: "A case that two machines do not share has no ratio."})
		}
		if broken := slices.Sorted(maps.Keys(judge.Violations(m.Run))); len(broken) > 0 {
			out = append(out, machine.Warning{
				Text:   fmt.Sprintf("On %s these locks broke a promise, and are in no chart of it: %s.", m.Name, numfmt.List(broken, 6)),
				Remedy: "Its own report has the details."})
		}
	}
	return out
}

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
	Differences   []machine.Warning
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

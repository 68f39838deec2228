package page

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// Machines returns a report of several runs, compared with the first. The error wraps
// harness.ErrUsage if there are fewer than two.
func Machines(runs []*result.Run, folders []string) (*Document, error) {
	doc, err := composeMachines(nameMachines(runs, folders))
	if err != nil {
		return nil, fmt.Errorf("reports: %w", err)
	}
	return &Document{form: "machines", data: doc, glossary: doc.glossary}, nil
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
	{"GOMAXPROCS", "Set it alike, unless the number of processors is what you compare."},
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

func differences(ms []chart.Machine) (out []harness.Warning) {
	var facts [][]fact
	for _, m := range ms {
		facts = append(facts, environment(m.Run))
	}
	for _, s := range settings {
		if text := differ(ms, facts, s.Name); text != "" {
			out = append(out, harness.Warning{Text: numfmt.Sentence(s.Name + ": " + text), Remedy: s.Value})
		}
	}
	out = append(out, copies(ms)...)
	for _, m := range ms {
		if n := len(m.Run.Simulations); n > 0 {
			out = append(out, harness.Warning{
				Text:   fmt.Sprintf("%s has %s, which stand nowhere here: only what was measured is compared.", m.Name, numfmt.Plural(n, "simulation")),
				Remedy: "Its own report draws them."})
		}
	}
	return append(out, coverage(ms)...)
}

// differ groups machines by a fact, such as "2 on a; 4 on b and c", or returns "".
func differ(ms []chart.Machine, facts [][]fact, name string) string {
	var values []string
	on := make(map[string][]string)
	for i, m := range ms {
		v := "not known"
		if k := slices.IndexFunc(facts[i], func(f fact) bool { return f.Name == name }); k >= 0 {
			v = facts[i][k].Value
		}
		if on[v] == nil {
			values = append(values, v)
		}
		on[v] = append(on[v], m.Name)
	}
	if len(values) < 2 {
		return ""
	}
	for i, v := range values {
		values[i] = v + " on " + numfmt.List(on[v], 6)
	}
	return strings.Join(values, "; ")
}

func copies(ms []chart.Machine) (out []harness.Warning) {
	for i, m := range ms {
		for _, o := range ms[:i] {
			a, b := m.Run.Manifest, o.Run.Manifest
			if a.Seed == b.Seed && a.Started.Equal(b.Started) && !a.Started.IsZero() {
				out = append(out, harness.Warning{
					Text:   fmt.Sprintf("%s and %s hold the same run: their ratios say nothing.", o.Name, m.Name),
					Remedy: "Leave one of them out."})
			}
		}
	}
	return out
}

func coverage(ms []chart.Machine) (out []harness.Warning) {
	cases := make([]map[string]bool, len(ms))
	all := make(map[string]bool)
	for i, m := range ms {
		cases[i] = make(map[string]bool)
		for _, r := range m.Run.Results {
			name := r.Lock.Name + " with " + strings.ReplaceAll(r.Workload.Name(), "/", " ")
			cases[i][name], all[name] = true, true
		}
	}
	for i, m := range ms {
		var missing []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if !cases[i][name] {
				missing = append(missing, name)
			}
		}
		if len(missing) > 0 {
			out = append(out, harness.Warning{
				Text:   fmt.Sprintf("Not measured on %s, but elsewhere: %s.", m.Name, numfmt.List(missing, 4)),
				Remedy: "A case that two machines do not share has no ratio."})
		}
	}
	for _, m := range ms {
		if broken := slices.Sorted(maps.Keys(judge.Violations(m.Run))); len(broken) > 0 {
			out = append(out, harness.Warning{
				Text:   fmt.Sprintf("On %s these locks broke a promise, and are in no chart of it: %s.", m.Name, numfmt.List(broken, 6)),
				Remedy: "Its own report has the details."})
		}
	}
	return out
}

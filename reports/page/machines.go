package page

import (
	"cmp"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// Machines names each run, read from the folder of the same index. It takes the first
// unique name of host, folder and full path.
func Machines(runs []*result.Run, folders []string) []chart.Machine {
	out := make([]chart.Machine, len(runs))
	for i, run := range runs {
		out[i] = chart.Machine{Folder: result.OneLine(folders[i]), Run: chart.Tidy(run)}
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

// A property is an attribute of a run that may differ between machines.
type property struct {
	name   string
	of     func(m chart.Machine) string
	remedy string // set for a setting, not for a property of the machine
}

// properties are the compared attributes, in the order of the table.
var properties = []property{
	{"host", func(m chart.Machine) string { return m.Run.Manifest.Machine.Host }, ""},
	{"processor", func(m chart.Machine) string { return chart.Hardware(m.Run.Manifest.Machine) }, ""},
	{"architecture", func(m chart.Machine) string { return m.Run.Manifest.Machine.Arch }, ""},
	{"atomic instruction", func(m chart.Machine) string { return m.Run.Manifest.Machine.Atomics }, ""},
	{"system", func(m chart.Machine) string {
		return strings.TrimSpace(m.Run.Manifest.Machine.OS + " " + m.Run.Manifest.Machine.Kernel)
	}, "Another kernel schedules and wakes differently."},
	{"GOMAXPROCS", func(m chart.Machine) string { return count(m.Run.Manifest.Machine.GOMAXPROCS) }, "Set it alike, unless the number of processors is what you compare."},
	{"CPU limit", func(m chart.Machine) string {
		if l := m.Run.Manifest.Machine.CPULimit; l > 0 {
			return numfmt.Number(l)
		}
		return ""
	}, "Give the containers the same."},
	{"governor", func(m chart.Machine) string { return m.Run.Manifest.Machine.Governor }, "Set the same one, performance if you can."},
	{"turbo", func(m chart.Machine) string { return m.Run.Manifest.Machine.Turbo }, "Switch it off on all of them."},
	{"Go", func(m chart.Machine) string { return m.Run.Manifest.Machine.Go }, "Build with the same version."},
	{"locklab", func(m chart.Machine) string { return m.Run.Manifest.Commit }, "Build all of them from the same commit."},
	{"servers", servers, "Install the same versions."},
	{"measured", func(m chart.Machine) string { return windows(m.Run) }, "Use the same --rounds and --duration."},
	{"started", func(m chart.Machine) string { return moment(m.Run.Manifest.Started) }, ""},
	{"folder", func(m chart.Machine) string { return m.Folder }, ""},
}

func servers(m chart.Machine) string {
	var parts []string
	for _, f := range versions(m.Run) {
		if !strings.Contains(f.Name, "/") {
			parts = append(parts, f.Name+" "+f.Value)
		}
	}
	return strings.Join(parts, ", ")
}

// machinesTable lists the properties known for any machine.
func machinesTable(ms []chart.Machine) chart.Table {
	t := chart.Table{Head: chart.Titles("machine")}
	for _, m := range ms {
		t.Head = append(t.Head, chart.Piece{Text: m.Name})
	}
	for _, p := range properties {
		row, known := []string{p.name}, false
		for _, m := range ms {
			v := p.of(m)
			known = known || v != ""
			row = append(row, cmp.Or(v, numfmt.Unknown))
		}
		if known {
			t.Rows = append(t.Rows, row)
		}
	}
	return t
}

// differences lists the differences in settings between the machines, and the cases that
// not all of them measured.
func differences(ms []chart.Machine) (out []harness.Warning) {
	for _, p := range properties {
		if text := differ(ms, p.of); text != "" && p.remedy != "" {
			out = append(out, harness.Warning{Text: numfmt.Sentence(p.name + ": " + text), Remedy: p.remedy})
		}
	}
	out = append(out, copies(ms)...)
	out = append(out, apart(ms)...)
	for _, m := range ms {
		if n := len(m.Run.Simulations); n > 0 {
			out = append(out, harness.Warning{
				Text:   fmt.Sprintf("%s has %s, which stand nowhere here: only what was measured is compared.", m.Name, numfmt.Plural(n, "simulation")),
				Remedy: "Its own report draws them."})
		}
	}
	return append(out, coverage(ms)...)
}

// differ groups machines by value: "2 on a; 4 on b and c". It returns "" if all have the
// same.
func differ(ms []chart.Machine, of func(m chart.Machine) string) string {
	var values []string
	on := make(map[string][]string)
	for _, m := range ms {
		v := cmp.Or(of(m), "not known")
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

// copies warns about machines with the same run.
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

// apart warns about machines measured on different days.
func apart(ms []chart.Machine) []harness.Warning {
	var first, last time.Time
	for _, m := range ms {
		at := m.Run.Manifest.Started
		if at.IsZero() {
			continue
		}
		if first.IsZero() || at.Before(first) {
			first = at
		}
		if at.After(last) {
			last = at
		}
	}
	if last.Sub(first) < 24*time.Hour {
		return nil
	}
	return []harness.Warning{{
		Text:   fmt.Sprintf("The runs started %s apart.", numfmt.Plural(int(last.Sub(first)/(24*time.Hour)), "day")),
		Remedy: "What else changed in that time is in the ratios too."}}
}

// coverage lists the cases that were not measured on every machine.
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

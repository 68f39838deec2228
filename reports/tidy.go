package reports

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

// Limits, in characters, of texts from a file that are drawn or in a table. The charts make
// room for names; a name wider than the page would leave none for the data.
const (
	mostName = 36   // of locks, rows, columns
	mostText = 2000 // of sentences
)

// tidy returns run with texts of one line and limited length. Names stay unique and contain
// the status of an unsound lock. Unchanged parts are shared with run. tidy must not be
// applied to its own result.
func tidy(run *result.Run) *result.Run {
	out := *run
	names := make(map[string]string)
	out.Results = slices.Clone(run.Results)
	for i, r := range out.Results {
		c := *r
		c.Lock = tidyLock(r.Lock, names)
		c.Workload.Wait, c.Workload.Pin = harness.WaitPolicy(short(string(r.Workload.Wait), mostName)), harness.Pin(short(string(r.Workload.Pin), mostName))
		c.Workload.Section = harness.Section(short(string(r.Workload.Section), mostName))
		c.Workload.Hold.Mix, c.Workload.Think.Mix = harness.Mix(short(string(r.Workload.Hold.Mix), 2*mostName)), harness.Mix(short(string(r.Workload.Think.Mix), 2*mostName))
		c.Clock = short(r.Clock, mostName)
		c.Retries = shortAll(r.Retries)
		c.Violations = slices.Clone(r.Violations)
		for k, v := range c.Violations {
			c.Violations[k].Rule, c.Violations[k].Detail, c.Violations[k].Trace = short(v.Rule, mostName), short(v.Detail, mostText), shortAll(v.Trace)
		}
		c.Warnings = tidyWarnings(r.Warnings)
		out.Results[i] = &c
	}
	out.Manifest.Warnings = tidyWarnings(run.Manifest.Warnings)
	out.Manifest.Skipped = slices.Clone(run.Manifest.Skipped)
	for i, s := range out.Manifest.Skipped {
		out.Manifest.Skipped[i] = result.Skip{Lock: shortName(names, s.Lock), Reason: short(s.Reason, mostText), Conditions: short(s.Conditions, mostName)}
	}
	out.Manifest.Sites = slices.Clone(run.Manifest.Sites)
	for i, s := range out.Manifest.Sites {
		s.Kind, s.Conditions, s.Version = short(s.Kind, mostName), short(s.Conditions, mostName), short(s.Version, mostName)
		s.Settings, s.FileSystem = short(s.Settings, mostText), short(s.FileSystem, mostName)
		out.Manifest.Sites[i] = s
	}
	out.Damage = shortAll(run.Damage)
	out.Faults = slices.Clone(run.Faults)
	for i, f := range out.Faults {
		out.Faults[i] = tidyFault(f, names)
	}
	out.Chaos = slices.Clone(run.Chaos)
	for i, s := range out.Chaos {
		out.Chaos[i].Dir, out.Chaos[i].Commit, out.Chaos[i].Command = short(s.Dir, mostText), short(s.Commit, mostName), shortAll(s.Command)
	}
	out.Simulations = tidySimulations(run.Simulations, names)
	out.Findings = slices.Clone(run.Findings)
	for i, f := range out.Findings {
		if f != nil {
			out.Findings[i] = tidyFinding(f)
		}
	}
	return &out
}

// tidySimulations is tidy for simulations; names are the names of the locks.
func tidySimulations(ss []*harness.Simulation, names map[string]string) []*harness.Simulation {
	out := slices.Clone(ss)
	for i, s := range out {
		c := *s
		c.Lock = tidyLock(s.Lock, names)
		c.Simulated, c.Accuracy = short(s.Simulated, mostName), short(s.Accuracy, mostText)
		out[i] = &c
	}
	return out
}

// tidyLock is tidy for a lock; names are the names of all locks.
func tidyLock(l harness.Lock, names map[string]string) harness.Lock {
	l.Name = markedName(shortName(names, l.Name), l.Status)
	l.Doc, l.Paper = short(l.Doc, mostText), short(l.Paper, mostText)
	l.Family, l.Status = harness.Family(short(string(l.Family), mostName)), harness.Status(short(string(l.Status), mostName))
	l.Traits.Needs = short(l.Traits.Needs, mostName)
	return l
}

// tidyFault is tidy for a result of a failure scenario; names are the names of the locks.
func tidyFault(f *harness.FaultResult, names map[string]string) *harness.FaultResult {
	c := *f
	c.Lock = tidyLock(f.Lock, names)
	c.Scenario, c.Question, c.Fault, c.Source = short(f.Scenario, 2*mostName), short(f.Question, mostText), short(f.Fault, mostText), short(f.Source, mostText)
	c.Expected.Why, c.Skipped, c.Notes = short(f.Expected.Why, mostText), short(f.Skipped, mostText), shortAll(f.Notes)
	c.Aims = slices.Clone(f.Aims)
	for i, a := range c.Aims {
		c.Aims[i].Text = short(a.Text, mostText)
	}
	return &c
}

func tidyFinding(f *harness.Finding) *harness.Finding {
	c := *f
	c.Name = short(f.Name, mostName)
	c.Question, c.Method, c.Source, c.Answer = short(f.Question, mostText), short(f.Method, mostText), short(f.Source, mostText), short(f.Answer, mostText)
	c.Notes, c.Warnings, c.Tables = shortAll(f.Notes), tidyWarnings(f.Warnings), slices.Clone(f.Tables)
	for i, t := range c.Tables {
		names := make(map[string]string)
		t.Caption, t.Label = short(t.Caption, mostText), short(t.Label, mostName)
		t.Columns, t.Rows = slices.Clone(t.Columns), slices.Clone(t.Rows)
		for k, col := range t.Columns {
			t.Columns[k].Name, t.Columns[k].Unit = shortName(names, col.Name), short(col.Unit, mostName)
		}
		for k, row := range t.Rows {
			row.Label, row.Cells = short(row.Label, 2*mostName), slices.Clone(row.Cells)
			for j, cell := range row.Cells {
				row.Cells[j].Text = short(cell.Text, mostText)
			}
			t.Rows[k] = row
		}
		c.Tables[i] = t
	}
	return &c
}

func tidyWarnings(ws []harness.Warning) []harness.Warning {
	out := slices.Clone(ws)
	for i, w := range out {
		out[i] = harness.Warning{Text: short(w.Text, mostText), Remedy: short(w.Remedy, mostText), Kind: short(w.Kind, mostName)}
	}
	return out
}

// short returns text as a line of at most most characters.
func short(text string, most int) string {
	text = result.OneLine(text)
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func shortAll(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		out[i] = short(t, mostText)
	}
	return out
}

// shortName is short for a name that must be unique in names. It adds the result to names,
// and numbers names with the same start.
func shortName(names map[string]string, name string) string {
	if s, known := names[name]; known {
		return s
	}
	taken := func(s string) bool {
		for _, other := range names {
			if other == s {
				return true
			}
		}
		return false
	}
	s := short(name, mostName)
	for n := 2; s != name && taken(s); n++ {
		s = fmt.Sprintf("%s %d", short(name, mostName-4), n)
	}
	names[name] = s
	return s
}

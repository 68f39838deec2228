package chart

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

// Limits, in characters, of texts from a file that are drawn or in a table. The charts make
// room for names; a name wider than the page would leave none for the data.
const (
	MostName = 36   // of locks, rows, columns
	MostText = 2000 // of sentences
)

// Tidy returns run with texts of one line and limited length. Names stay unique and contain
// the status of an unsound lock. Unchanged parts are shared with run. tidy must not be
// applied to its own result.
func Tidy(run *result.Run) *result.Run {
	out := *run
	names := make(map[string]string)
	out.Results = slices.Clone(run.Results)
	for i, r := range out.Results {
		c := *r
		c.Lock = tidyLock(r.Lock, names)
		c.Workload.Wait, c.Workload.Pin = harness.WaitPolicy(Short(string(r.Workload.Wait), MostName)), harness.Pin(Short(string(r.Workload.Pin), MostName))
		c.Workload.Section = harness.Section(Short(string(r.Workload.Section), MostName))
		c.Workload.Hold.Mix, c.Workload.Think.Mix = harness.Mix(Short(string(r.Workload.Hold.Mix), 2*MostName)), harness.Mix(Short(string(r.Workload.Think.Mix), 2*MostName))
		c.Clock = Short(r.Clock, MostName)
		c.Retries = ShortAll(r.Retries)
		c.Violations = slices.Clone(r.Violations)
		for k, v := range c.Violations {
			c.Violations[k].Rule, c.Violations[k].Detail, c.Violations[k].Trace = Short(v.Rule, MostName), Short(v.Detail, MostText), ShortAll(v.Trace)
		}
		c.Warnings = tidyWarnings(r.Warnings)
		out.Results[i] = &c
	}
	out.Manifest.Warnings = tidyWarnings(run.Manifest.Warnings)
	out.Manifest.Skipped = slices.Clone(run.Manifest.Skipped)
	for i, s := range out.Manifest.Skipped {
		out.Manifest.Skipped[i] = result.Skip{Lock: shortName(names, s.Lock), Reason: Short(s.Reason, MostText), Conditions: Short(s.Conditions, MostName)}
	}
	out.Manifest.Sites = slices.Clone(run.Manifest.Sites)
	for i, s := range out.Manifest.Sites {
		s.Kind, s.Conditions, s.Version = Short(s.Kind, MostName), Short(s.Conditions, MostName), Short(s.Version, MostName)
		s.Settings, s.FileSystem = Short(s.Settings, MostText), Short(s.FileSystem, MostName)
		out.Manifest.Sites[i] = s
	}
	out.Damage = ShortAll(run.Damage)
	out.Faults = slices.Clone(run.Faults)
	for i, f := range out.Faults {
		out.Faults[i] = tidyFault(f, names)
	}
	out.Chaos = slices.Clone(run.Chaos)
	for i, s := range out.Chaos {
		out.Chaos[i].Dir, out.Chaos[i].Commit, out.Chaos[i].Command = Short(s.Dir, MostText), Short(s.Commit, MostName), ShortAll(s.Command)
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

func tidySimulations(ss []*harness.Simulation, names map[string]string) []*harness.Simulation {
	out := slices.Clone(ss)
	for i, s := range out {
		c := *s
		c.Lock = tidyLock(s.Lock, names)
		c.Simulated, c.Accuracy = Short(s.Simulated, MostName), Short(s.Accuracy, MostText)
		out[i] = &c
	}
	return out
}

func tidyLock(l harness.Lock, names map[string]string) harness.Lock {
	l.Name = MarkedName(shortName(names, l.Name), l.Status)
	l.Doc, l.Paper = Short(l.Doc, MostText), Short(l.Paper, MostText)
	l.Family, l.Status = harness.Family(Short(string(l.Family), MostName)), harness.Status(Short(string(l.Status), MostName))
	l.Traits.Needs = Short(l.Traits.Needs, MostName)
	return l
}

// tidyFault is tidy for a result of a failure scenario; names are the names of the locks.
func tidyFault(f *harness.FaultResult, names map[string]string) *harness.FaultResult {
	c := *f
	c.Lock = tidyLock(f.Lock, names)
	c.Scenario, c.Question, c.Fault, c.Source = Short(f.Scenario, 2*MostName), Short(f.Question, MostText), Short(f.Fault, MostText), Short(f.Source, MostText)
	c.Expected.Why, c.Skipped, c.Notes = Short(f.Expected.Why, MostText), Short(f.Skipped, MostText), ShortAll(f.Notes)
	c.Aims = slices.Clone(f.Aims)
	for i, a := range c.Aims {
		c.Aims[i].Text = Short(a.Text, MostText)
	}
	return &c
}

func tidyFinding(f *harness.Finding) *harness.Finding {
	c := *f
	c.Name = Short(f.Name, MostName)
	c.Question, c.Method, c.Source, c.Answer = Short(f.Question, MostText), Short(f.Method, MostText), Short(f.Source, MostText), Short(f.Answer, MostText)
	c.Notes, c.Warnings, c.Tables = ShortAll(f.Notes), tidyWarnings(f.Warnings), slices.Clone(f.Tables)
	for i, t := range c.Tables {
		names := make(map[string]string)
		t.Caption, t.Label = Short(t.Caption, MostText), Short(t.Label, MostName)
		t.Columns, t.Rows = slices.Clone(t.Columns), slices.Clone(t.Rows)
		for k, col := range t.Columns {
			t.Columns[k].Name, t.Columns[k].Unit = shortName(names, col.Name), Short(col.Unit, MostName)
		}
		for k, row := range t.Rows {
			row.Label, row.Cells = Short(row.Label, 2*MostName), slices.Clone(row.Cells)
			for j, cell := range row.Cells {
				row.Cells[j].Text = Short(cell.Text, MostText)
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
		out[i] = harness.Warning{Text: Short(w.Text, MostText), Remedy: Short(w.Remedy, MostText), Kind: Short(w.Kind, MostName)}
	}
	return out
}

// Short returns text as a line of at most most characters.
func Short(text string, most int) string {
	text = result.OneLine(text)
	if len(text) <= most {
		return text
	}
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func ShortAll(texts []string) []string {
	out := slices.Clone(texts)
	for i, t := range out {
		out[i] = Short(t, MostText)
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
	s := Short(name, MostName)
	for n := 2; s != name && taken(s); n++ {
		s = fmt.Sprintf("%s %d", Short(name, MostName-4), n)
	}
	names[name] = s
	return s
}

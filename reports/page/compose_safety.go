package page

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"locklab/harness/judge"
	"locklab/harness/oracle"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A safetySection is the results of the failure scenarios.
type safetySection struct {
	Title, Answer string
	Sources       []string // the runs of the scenarios
	Command       string   // that tests it
	Guarantees    []string // names of columns
	Columns       []string // names of scenarios
	Locks         []safetyLock
	Scenarios     []figure // their tables
	Figures       []figure
	Notes         []string

	Brief bool // without the figures of each scenario
	Tries int
}

// A safetyLock is a lock with its guarantees and its outcome in each scenario.
type safetyLock struct {
	Name, Class       string
	Tries             int
	Guarantees, Cells []sign

	strength result.Strength
	worst    float64                        // violations in 1000 faults of its worst scenario
	rows     map[string]result.FaultOutcome // by scenario
}

// A sign is a mark with its meaning.
type sign struct{ Mark, Text string }

// signKind returns the class of a mark in a page, which has a colour.
func signKind(mark string) string {
	switch first, _ := utf8.DecodeRuneInString(mark); {
	case strings.Contains(mark, "!"):
		return "anomaly unexpected"
	case first == '✓' || first == '0':
		return "held"
	case first == '▲' || first == '✗':
		return "anomaly"
	case first == '△':
		return "lesser"
	}
	return ""
}

// composeSafety returns the failure section of run, or nil without a distributed lock.
func composeSafety(run *result.Run) *safetySection {
	out := &safetySection{Title: "Which failures do the distributed locks tolerate?", Command: testCommand(run), Sources: sources(run), Locks: safetyLocks(run)}
	if out.Locks == nil {
		return nil
	}
	out.Columns = chart.Distinct(run.Faults, func(f *result.FaultResult) string { return f.Scenario })
	var unexpected []string
	for _, name := range out.Columns {
		var rows []result.FaultOutcome
		for i, l := range out.Locks {
			cell := sign{Text: "does not apply"}
			if r, ok := l.rows[name]; ok {
				cell, rows = outcome(r), append(rows, r)
				if out.Tries += r.N; r.Verdict == result.Unexpected {
					unexpected = append(unexpected, l.Name+" in "+name)
				}
			}
			out.Locks[i].Cells = append(l.Cells, cell)
		}
		out.Scenarios = append(out.Scenarios, scenarioFigure(rows))
	}
	out.Answer = safetyAnswer(out, unexpected)
	if out.Tries == 0 {
		out.Locks, out.Scenarios = nil, nil
		return out
	}
	out.Guarantees = result.Each(result.Guarantees, func(g result.Guarantee) string { return string(g) })
	charts, notes := chart.FaultCharts(run)
	out.Notes, out.Figures = notes, result.Each(charts, func(c chart.Named) figure { return newFigure(c, c.Name) })
	return out
}

// safetyLocks returns the distributed locks of run, the strongest class first.
func safetyLocks(run *result.Run) (out []safetyLock) {
	at := make(map[string]map[string]result.FaultOutcome)
	for _, r := range run.Results {
		if r.Lock.Traits.Needs != "" && at[r.Lock.Name] == nil {
			at[r.Lock.Name] = make(map[string]result.FaultOutcome)
		}
	}
	for _, f := range run.Faults {
		if at[f.Lock.Name] == nil {
			at[f.Lock.Name] = make(map[string]result.FaultOutcome)
		}
		at[f.Lock.Name][f.Scenario] = result.JudgeFault(f)
	}
	for name, rows := range at {
		class := result.ClassOf(run.Faults, name)
		l := safetyLock{Name: name, Class: numfmt.Sentence(class.Sentence), Tries: class.Tries, strength: class.Strength, rows: rows}
		for _, g := range result.Guarantees {
			st := class.Guarantees[g]
			l.Guarantees = append(l.Guarantees, sign{guaranteeMark(st), st.Counts()})
		}
		for _, row := range rows {
			if row.Verdict != result.NotTested {
				l.worst = max(l.worst, row.Broken)
			}
		}
		out = append(out, l)
	}
	slices.SortFunc(out, func(a, b safetyLock) int {
		return cmp.Or(cmp.Compare(b.strength, a.strength), cmp.Compare(a.worst, b.worst), strings.Compare(a.Name, b.Name))
	})
	return out
}

// safetyAnswer summarizes the guarantees of the locks in a few sentences.
func safetyAnswer(s *safetySection, unexpected []string) string {
	if s.Tries == 0 {
		return fmt.Sprintf("Not tested: no failure scenario was tried on the %s here.", numfmt.Plural(len(s.Locks), "lock"))
	}
	var parts []string
	for strength := result.Strong; strength >= result.Unknown; strength-- {
		var names []string
		for _, l := range s.Locks {
			if l.strength == strength {
				names = append(names, l.Name)
			}
		}
		if names != nil {
			parts = append(parts, fmt.Sprintf("%d %s (%s)", len(names), strength.Of(len(names)), numfmt.List(names, 6)))
		}
	}
	text := fmt.Sprintf("In %s faults of %s, of %s: %s.", numfmt.SI(float64(s.Tries)), numfmt.Plural(len(s.Columns), "scenario"), numfmt.Plural(len(s.Locks), "lock"), strings.Join(parts, "; "))
	if unexpected == nil {
		return text + " All outcomes were expected."
	}
	return text + fmt.Sprintf(" Not as expected: %s.", numfmt.List(unexpected, 6))
}

func testCommand(run *result.Run) string {
	return judge.TestCommand + "\nlocklab report " + quote(cmp.Or(run.Dir, "THIS")) + " --chaos DIR"
}

func sources(run *result.Run) (out []string) {
	own, published := 0, 0
	for _, f := range run.Faults {
		published += f.Published.Tries
		if f.Tries == 0 || f.Tries > f.Published.Tries {
			own++
		}
	}
	for _, c := range run.Chaos {
		own -= c.Faults
		text := "Tried in the run in " + c.Dir
		if c.Commit != "" {
			text += ", commit " + c.Commit
		}
		if len(c.Command) > 0 {
			text += ": " + strings.Join(c.Command, " ")
		}
		out = append(out, text+".")
	}
	if own > 0 {
		out = append([]string{"Tried in this run."}, out...)
	}
	if published > 0 {
		out = append(out, fmt.Sprintf("%d of the tries are published with locklab (%s).", published, run.Published))
	}
	return out
}

// outcome returns a result as a mark: its shape is the observation, a ! is unexpected.
func outcome(r result.FaultOutcome) (s sign) {
	unexpected := ""
	if r.Verdict == result.Unexpected {
		unexpected = "!"
	}
	switch {
	case r.Verdict == result.NotTested:
		return sign{"?", "not tested"}
	case r.Broken > 0:
		rate := numfmt.Number(r.Broken)
		return sign{"▲" + unexpected + " " + rate, string(r.Verdict) + ": " + Anomalies(r.Seen) + ", " + rate + " in 1000"}
	case len(r.Seen) > 0:
		s = sign{"△" + unexpected, string(r.Verdict) + ": " + Anomalies(r.Seen)}
		if r.Violations > 0 {
			s.Mark += " " + numfmt.Number(r.Violations)
		}
		return s
	case r.Verdict == result.NotShown:
		return sign{"○", "not shown"}
	}
	return sign{heldMark(r.N) + unexpected, string(r.Verdict) + ": no anomaly"}
}

// scenarioFigure returns the table of a scenario with these outcomes, a row for each lock.
func scenarioFigure(rows []result.FaultOutcome) figure {
	h := rows[0].Fault
	f := figure{Name: h.Scenario, ID: "scenario-" + h.Scenario, Title: h.Scenario + ": " + h.Question, Answer: numfmt.Sentence(h.Fault), Folded: true, Shown: true,
		Head: chart.Titles("lock", "verdict", "violations in 1000", "bound (95 %)", "outage p50", "greatest", "least notice", "faults", "observed")}
	if tests := result.Each(h.Tests, func(g result.Guarantee) string { return string(g) }); tests != nil {
		f.Answer += " Tests " + strings.Join(tests, ", ") + "."
	}
	if h.Source != "" {
		f.Answer += " Source: " + h.Source
	}
	for _, r := range rows {
		violations := numfmt.Number(r.Violations)
		if r.AtLeast {
			violations = "≥" + numfmt.Space + violations
		}
		row := []string{r.Fault.Lock.Name, outcome(r).Text, violations, numfmt.Unknown, numfmt.Unknown, numfmt.Unknown, numfmt.Unknown, numfmt.SI(float64(r.N)), strings.Join(seen(r), " · ")}
		if r.N > 0 {
			row[3] = numfmt.Percent(100 * r.Bound)
		}
		if r.Window.N > 0 {
			row[4], row[5] = lasting(r.Window.Median), lasting(r.Window.Most)
		}
		if r.Notice.N > 0 {
			row[6] = lasting(r.Notice.Least)
		}
		f.Rows = append(f.Rows, row)
	}
	return f
}

func lasting(ns float64) string {
	switch {
	case math.IsInf(ns, 1):
		return "no end"
	case ns < 0:
		return "−" + numfmt.Nanos(-ns)
	}
	return numfmt.Nanos(ns)
}

// seen describes the observations in r: the reading, the aims and the notes.
func seen(r result.FaultOutcome) []string {
	out := append([]string{r.Reading()}, result.Each(r.Aims, aimText)...)
	for _, lost := range []struct {
		n   int
		why string
	}{{r.Fault.Failed, "the fault could not be made"}, {r.Fault.Starved, "the machine kept processes from running"}} {
		if lost.n > 0 {
			out = append(out, fmt.Sprintf("%d more %s did not count: %s", lost.n, numfmt.Choose(lost.n, "try", "tries"), lost.why))
		}
	}
	return append(out, r.Fault.Notes...)
}

func aimText(a result.Aim) string {
	format := numfmt.Number
	if a.Figure == "window" || a.Figure == "notice" {
		format = lasting
	}
	switch {
	case !a.Known():
		return "Aim not tested: " + a.Text
	case a.Met:
		return fmt.Sprintf("Aim met: %s (%s)", a.Text, format(a.Value))
	}
	return fmt.Sprintf("Aim missed in %s: %s (%s)", a.Scenario, a.Text, format(a.Value))
}

// WriteFaults writes a table for each scenario, and the details of unexpected outcomes. No
// line is wider than width columns, at least 60.
func WriteFaults(out io.Writer, rows []result.FaultOutcome, width int) error {
	type scenario struct {
		figure
		Striking []string
	}
	var all []scenario
	for _, of := range result.GroupBy(rows, func(r result.FaultOutcome) string { return r.Fault.Scenario }) {
		s := scenario{figure: scenarioFigure(of)}
		for i, r := range of {
			s.Rows[i] = s.Rows[i][:len(s.Rows[i])-1] // the observations are below
			if striking(r) {
				s.Striking = append(append(s.Striking, r.Fault.Lock.Name+": "+seen(r)[0]), seen(r)[1:]...)
				for _, file := range r.Fault.Histories {
					s.Striking = append(s.Striking, "history: "+file)
				}
			}
		}
		s.Head = s.Head[:len(s.Head)-1]
		all = append(all, s)
	}
	return (&Document{form: "faults", data: all}).Text(out, width)
}

// striking reports whether a terminal shows the observations in r.
func striking(r result.FaultOutcome) bool {
	return r.Verdict == result.Unexpected || r.Verdict == result.NotTested || r.Fault.Failed+r.Fault.Starved > 0 || r.Missed() != nil
}

// Anomalies names anomalies, or returns "safe" without any.
func Anomalies(hs []oracle.Anomaly) string {
	return cmp.Or(result.ListAnomalies(hs), "safe")
}

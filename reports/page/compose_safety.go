package page

import (
	"fmt"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// composeSafety returns the failure section of run, or nil without failure tests.
func composeSafety(run *result.Run) (*safetySection, error) {
	s := chart.SafetyOf(run)
	if s == nil {
		return nil, nil
	}
	out := &safetySection{Title: "What do the distributed locks survive?", Answer: s.Answer(), Tries: s.Tries, Command: testCommand(run), Sources: sources(run)}
	if !s.Tried() {
		return out, nil
	}
	for _, gu := range harness.Guarantees {
		out.Guarantees = append(out.Guarantees, string(gu))
	}
	for _, h := range s.Scenarios {
		out.Columns = append(out.Columns, h.Scenario)
		out.Scenarios = append(out.Scenarios, scenarioTable(h))
	}
	for _, l := range s.Locks {
		out.Locks = append(out.Locks, lockRow(s, l))
	}
	charts, notes := chart.FaultCharts(run, s)
	for _, c := range charts {
		f, err := newFigure(c, c.Name)
		if err != nil {
			return nil, err
		}
		out.Figures = append(out.Figures, f)
	}
	out.Notes = append(out.Notes, notes...)
	return out, nil
}

func published(run *result.Run) (n int) {
	for _, f := range run.Faults {
		n += f.Published
	}
	return n
}

func testCommand(run *result.Run) string {
	dir := run.Dir
	if dir == "" {
		dir = "THIS"
	}
	return judge.TestCommand + "\nlocklab report " + quote(dir) + " --chaos DIR"
}

func sources(run *result.Run) (out []string) {
	from := 0
	for _, c := range run.Chaos {
		from += c.Faults
		text := "Tried in the run in " + c.Dir
		if !c.Started.IsZero() {
			text += " of " + c.Started.UTC().Format("2006-01-02 15:04 UTC")
		}
		if c.Commit != "" {
			text += ", commit " + c.Commit
		}
		if len(c.Command) > 0 {
			text += ": " + strings.Join(c.Command, " ")
		}
		out = append(out, text+".")
	}
	own := 0
	for _, f := range run.Faults {
		if f.Tries == 0 || f.Tries > f.Published {
			own++
		}
	}
	if own > from {
		out = append([]string{"Tried in this run."}, out...)
	}
	if n := published(run); n > 0 {
		out = append(out, fmt.Sprintf("%d of the tries are of the campaign that is published with locklab (%s).", n, run.Published))
	}
	return out
}

func lockRow(s *chart.Safety, l *chart.Survivor) safetyLock {
	row := safetyLock{Name: l.Lock.Name, Class: numfmt.Sentence(l.Sentence()), Tries: l.Class.Tries}
	for _, g := range harness.Guarantees {
		st := l.Class.Guarantees[g]
		row.Guarantees = append(row.Guarantees, safetyCell{Mark: guaranteeMark(st), Kind: stateKind[st.State], Text: string(st.State), Long: string(g) + " " + st.String()})
	}
	for _, h := range s.Scenarios {
		r, ok := l.Rows[h.Scenario]
		if !ok {
			row.Cells = append(row.Cells, safetyCell{Text: "does not apply"})
			continue
		}
		row.Cells = append(row.Cells, outcome(r))
	}
	return row
}

// outcome returns a result as a mark: its shape is the observation, a ! is unexpected.
func outcome(r result.Survival) safetyCell {
	c := safetyCell{Long: r.Reading()}
	violated := r.Broken > 0
	switch {
	case r.Verdict == result.NotTested:
		c.Mark, c.Text = "?", "not tested"
	case violated:
		c.Mark, c.Kind, c.Figure = "▲", "harm", numfmt.Number(r.Broken)
		c.Text = string(r.Verdict) + ": " + Harms(r.Seen) + ", " + c.Figure + " in 1000"
	case len(r.Seen) > 0:
		if r.Violations > 0 {
			c.Figure = numfmt.Number(r.Violations)
		}
		c.Mark, c.Kind, c.Text = "△", "lesser", string(r.Verdict)+": "+Harms(r.Seen)
	case r.Verdict == result.NotShown:
		c.Mark, c.Text = "○", "not shown"
	default:
		c.Mark, c.Kind, c.Text = heldMark(r.N), "held", string(r.Verdict)+": no harm"
	}
	if r.Verdict == result.Refuted {
		c.Mark, c.Kind = c.Mark+"!", "harm refuted"
	}
	return c
}

func scenarioTable(h *chart.Hazard) safetyScenario {
	t := safetyScenario{Name: h.Scenario, Question: h.Question, Fault: numfmt.Sentence(h.Fault), Source: h.Source}
	var names []string
	for _, g := range h.Tests {
		names = append(names, string(g))
	}
	t.Tests = strings.Join(names, ", ")
	counts := make(map[result.SurvivalVerdict]int)
	for _, r := range h.Rows {
		counts[r.Verdict]++
		row := safetyFigures{Lock: r.Fault.Lock.Name, Verdict: string(r.Verdict), Cell: outcome(r), Violations: chart.PerThousand(r), Median: numfmt.Unknown, Most: numfmt.Unknown, Margin: numfmt.Unknown, Bound: numfmt.Unknown, Tries: r.N, Reading: r.Reading(),
			Striking: r.Verdict == result.Refuted || r.Verdict == result.NotTested, Histories: r.Fault.Histories}
		if r.N > 0 {
			row.Bound = numfmt.Percent(100 * r.Bound)
		}
		if r.Window.N > 0 {
			row.Median, row.Most = chart.Lasting(r.Window.Median), chart.Lasting(r.Window.Most)
		}
		if r.Margin.N > 0 {
			row.Margin = chart.Lasting(r.Margin.Least)
		}
		for _, a := range r.Aims {
			row.Aims = append(row.Aims, aimText(a))
			row.Striking = row.Striking || a.Known() && !a.Met
		}
		for _, lost := range []struct {
			n   int
			why string
		}{{r.Fault.Failed, "the fault could not be made"}, {r.Fault.Starved, "the machine kept processes from running"}} {
			if lost.n > 0 {
				row.Notes = append(row.Notes, fmt.Sprintf("%d more %s did not count: %s", lost.n, numfmt.Choose(lost.n, "try", "tries"), lost.why))
				row.Striking = true
			}
		}
		row.Notes = append(row.Notes, r.Fault.Notes...)
		t.Rows = append(t.Rows, row)
	}
	var parts []string
	for _, v := range []result.SurvivalVerdict{result.Refuted, result.Confirmed, result.NotShown, result.Observed, result.NotTested} {
		if counts[v] > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", counts[v], v))
		}
	}
	t.Summary = strings.Join(parts, ", ")
	return t
}

func aimText(a result.Aim) string {
	format := numfmt.Number
	if a.Figure == "window" || a.Figure == "margin" {
		format = chart.Lasting
	}
	switch {
	case !a.Known():
		return "Aim not tested: " + a.Text
	case a.Met:
		return fmt.Sprintf("Aim met: %s (%s)", a.Text, format(a.Value))
	}
	return fmt.Sprintf("Aim missed: %s (%s)", a.Text, format(a.Value))
}

package page

import (
	"io"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// WriteFaults writes a table for each scenario, and the details of unexpected outcomes. Rows
// of one scenario are neighbours. No line is wider than width columns, at least 60.
func WriteFaults(out io.Writer, rows []result.Survival, width int) error {
	var scenarios []safetyScenario
	for len(rows) > 0 {
		n := 1
		for n < len(rows) && rows[n].Fault.Scenario == rows[0].Fault.Scenario {
			n++
		}
		scenarios = append(scenarios, scenarioTable(&chart.Hazard{FaultResult: rows[0].Fault, Rows: rows[:n]}))
		rows = rows[n:]
	}
	t := newText(width)
	t.execute("faults", scenarios)
	return t.writeTo(out)
}

// Grid returns the figures of s as a table for a terminal.
func (s safetyScenario) Grid() (v tableView) {
	v.Head = chart.Titles("lock", "verdict", "tries", "bound (95 %)", "window p50", "greatest", "told before")
	for _, r := range s.Rows {
		v.Rows = append(v.Rows, []string{r.Lock, r.Cell.Text, numfmt.SI(float64(r.Tries)), r.Bound, r.Median, r.Most, r.Margin})
	}
	return v
}

// Harms names harms, or returns "safe" without any.
func Harms(hs []harness.Harm) string {
	if len(hs) == 0 {
		return "safe"
	}
	var names []string
	for _, h := range hs {
		names = append(names, string(h))
	}
	return numfmt.List(names, len(names))
}

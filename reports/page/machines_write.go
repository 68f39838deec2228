package page

import (
	"locklab/reports/chart"

	_ "embed"
	"fmt"
	"io"
)

// WriteMachinesHTML writes one self-contained page about several runs, compared with the
// first. The error wraps harness.ErrUsage if there are fewer than two.
func WriteMachinesHTML(w io.Writer, ms []chart.Machine) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "machines", doc)
}

// WriteMachines writes the verdicts of ms, their differences and their speeds as text. No
// line is wider than width columns, at least 60.
func WriteMachines(w io.Writer, ms []chart.Machine, width int) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	t := newText(width)
	t.execute("machines", doc)
	return t.writeTo(w)
}

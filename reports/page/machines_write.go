package page

import (
	"locklab/internal/numfmt"
	"locklab/reports/chart"

	_ "embed"
	"fmt"
	"io"
	"strings"
)

// WriteMachinesHTML writes one self-contained page about several runs: the verdicts of
// each, and the common cases in shared frames. The others are compared with the first. The
// error wraps harness.ErrUsage if there are fewer than two.
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
	t := &textWriter{width: max(width, minText)}
	t.line(doc.Title)
	t.line(doc.Origin)
	for _, one := range doc.Machines {
		t.gap()
		t.line("On " + one.Name)
		t.answers(one.Answers)
		if len(one.Answers) == 0 {
			t.line(noDecision)
		}
		t.gap()
		t.line(one.Quality.Headline())
	}
	for _, s := range doc.Sections {
		if !s.Folded {
			t.gap()
			t.line(s.Title + ": " + s.Figures[0].Answer)
		}
	}
	if doc.Sections == nil {
		t.gap()
		t.line(nothingShared)
	}
	t.gap()
	t.line(doc.Headline() + ".")
	for _, d := range doc.Differences {
		t.item(strings.TrimSpace(d.Text + " " + d.Remedy))
	}
	if _, err := io.WriteString(w, strings.ReplaceAll(t.buf.String(), numfmt.Space, " ")); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

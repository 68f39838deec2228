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

// WriteMachinesMarkdown writes the content of [WriteMachinesHTML] as Markdown; folder and
// picture are as in [WriteMarkdown].
func WriteMachinesMarkdown(w io.Writer, ms []chart.Machine, folder string, picture func(path string, png []byte) error) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool), glossary: doc.glossary}
	m.heading(1, doc.Title)
	if doc.Verdicts.Rows != nil {
		m.table(chart.Texts(doc.Verdicts.Head), doc.Verdicts.Rows)
		m.meanings(doc.Verdicts.Head)
	}
	m.heading(2, "Machines")
	m.table(chart.Texts(doc.Table.Head), doc.Table.Rows)
	m.meanings(doc.Table.Head)
	m.heading(2, doc.Headline())
	var items []string
	for _, d := range doc.Differences {
		items = append(items, strings.TrimSpace(d.Text+" "+d.Remedy))
	}
	m.items(items)
	for _, one := range doc.Machines {
		m.heading(2, "Which lock on "+one.Name+"?")
		m.verdicts(one, 3)
		m.quality(one.Quality, 3)
	}
	if doc.Sections == nil {
		m.text(nothingShared)
	}
	for _, s := range doc.Sections {
		m.section(s)
	}
	m.metrics(doc.glossary)
	return m.writeTo(w)
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

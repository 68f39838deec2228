package reports

import (
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
)

//go:embed machines.html.tmpl
var machinesText string

// A comparison of machines is what their template reads.
type machinesDocument struct {
	Title, Origin string
	Tokens        []paint
	Verdicts      table
	Table         table
	Differences   []harness.Warning
	Machines      []*document // without charts
	Sections      []section
}

// Head and Rows are for the template.
func (t table) Head() []string   { return t.head }
func (t table) Rows() [][]string { return t.rows }

// composeMachines returns the report of ms, two or more.
func composeMachines(ms []Machine) (*machinesDocument, error) {
	if len(ms) < 2 {
		return nil, fmt.Errorf("%w: a report of several machines needs two, got %d", harness.ErrUsage, len(ms))
	}
	doc := &machinesDocument{Title: "Which lock on which machine?", Table: machinesTable(ms), Differences: differences(ms)}
	var origins []string
	for _, m := range ms {
		one := outline(m.Run)
		one.Name, one.Measured = m.Name, true
		doc.Machines = append(doc.Machines, one)
		origins = append(origins, m.Name+": "+hardware(m.Run.Manifest.Machine))
		doc.Tokens = one.Tokens
	}
	doc.Origin = strings.Join(origins, " · ")
	doc.Verdicts = verdictsTable(doc.Machines)
	xs := matches(ms)
	first := []int{largestMatch(xs, false), largestMatch(xs, true)}
	room := foldedRoom
	for _, folded := range []bool{false, true} {
		for i, x := range xs {
			if folded == (i == first[0] || i == first[1]) || folded && room <= 0 {
				continue
			}
			s, err := x.draft(strconv.Itoa(i), folded)
			if err != nil {
				return nil, err
			}
			if folded {
				room -= s.size()
			}
			doc.Sections = append(doc.Sections, s)
		}
	}
	return doc, nil
}

// verdictsTable sets the verdicts of the machines beside each other: a row a
// situation, whatever the processors of a machine.
func verdictsTable(machines []*document) table {
	t := table{head: []string{"situation"}}
	for i, m := range machines {
		t.head = append(t.head, m.Name)
		at := -1
		for _, v := range m.Verdicts {
			_, axes, _ := strings.Cut(v.Setting, ", ") // behind the numbers of workers and processors
			name, before := v.Situation+", "+axes, at
			if at = slices.IndexFunc(t.rows, func(row []string) bool { return row[0] == name }); at < 0 {
				at = before + 1 // the order of situations is that of each machine
				row := slices.Repeat([]string{unknown}, len(machines)+1)
				row[0] = name
				t.rows = slices.Insert(t.rows, at, row)
			}
			cell := "no verdict"
			if v.Use != "" {
				cell = v.Use + ", " + v.Rate
			}
			t.rows[at][i+1] = cell
		}
	}
	return t
}

// WriteMachinesHTML writes one self-contained page about several runs: the
// verdicts of each, and what they share in the same frames. The first is the one
// that the others are compared with. The error wraps harness.ErrUsage if there
// are not two.
func WriteMachinesHTML(w io.Writer, ms []Machine) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "machines", doc)
}

// WriteMachinesMarkdown writes what WriteMachinesHTML writes as Markdown; folder
// and picture are as in [WriteMarkdown].
func WriteMachinesMarkdown(w io.Writer, ms []Machine, folder string, picture func(path string, png []byte) error) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool)}
	m.heading(1, doc.Title)
	if doc.Verdicts.rows != nil {
		m.table(doc.Verdicts.head, doc.Verdicts.rows)
	}
	m.heading(2, "Machines")
	m.table(doc.Table.head, doc.Table.rows)
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
	return m.writeTo(w)
}

// WriteMachines writes the verdicts of ms, what they do not have in common and
// how fast each is, as text no wider than width columns, 60 at least.
func WriteMachines(w io.Writer, ms []Machine, width int) error {
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
		for _, v := range one.Verdicts {
			t.gap()
			t.verdict(v)
		}
		if len(one.Verdicts) == 0 {
			t.line("This run has no result that a verdict could rest on.")
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
	if _, err := io.WriteString(w, strings.ReplaceAll(t.buf.String(), nb, " ")); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

const nothingShared = "No two of these runs measured the same workload, so there is nothing to draw side by side."

// Headline sums the differences up.
func (d *machinesDocument) Headline() string {
	if len(d.Differences) == 0 {
		return "Settings and coverage: the runs do not differ"
	}
	return "Settings and coverage: " + numfmt.Plural(len(d.Differences), "difference") + " between the runs"
}

// Shared is what to say if nothing is.
func (d *machinesDocument) Shared() string {
	if d.Sections == nil {
		return nothingShared
	}
	return ""
}

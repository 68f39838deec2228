package page

import (
	"fmt"
	"html/template"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// draftMatch draws the comparison; if folded, only the rates.
func draftMatch(x *chart.Match, id string, folded bool) (section, error) {
	s := section{ID: "machines-" + id, Title: kind(x.Remote) + ", " + x.Axes, Slug: chart.SlugOf(x.Axes), Folded: folded}
	suffix := map[bool]string{false: "", true: "-distributed"}[x.Remote]
	add := func(name, title, doc string, pic chart.Picture) error {
		f := figure{Name: name + suffix, Pic: pic.Picture, ID: name + "-" + id, Title: title, Answer: pic.Answer, Doc: doc, Data: pic.Data.Sentence(), Head: pic.Numbers.Head, Rows: pic.Numbers.Rows}
		if n := len(f.Rows); n > chart.MostTableRows {
			f.Rows, f.Omitted = f.Rows[:chart.MostTableRows], chart.Omission(n)
		}
		if pic.Height > 0 {
			svg, err := draw.Inline(pic.Picture, f.ID, title, pic.Answer)
			if err != nil {
				return fmt.Errorf("chart %s: %w", name, err)
			}
			f.SVG = template.HTML(svg)
		}
		s.Figures = append(s.Figures, f)
		return nil
	}
	for i, o := range chart.Overlays {
		if folded && i > 0 {
			break
		}
		if err := add(o.Name, o.Title, chart.OverlayDoc, o.Draw(x)); err != nil {
			return s, err
		}
	}
	return s, nil
}

// A machinesDocument is the data of the template for several machines.
type machinesDocument struct {
	Title, Origin string
	Tokens        []paint
	Verdicts      chart.Table
	Table         chart.Table
	Differences   []harness.Warning
	Machines      []*document // without charts
	Sections      []section
	glossary
}

func composeMachines(ms []chart.Machine) (*machinesDocument, error) {
	if len(ms) < 2 {
		return nil, fmt.Errorf("%w: a report of several machines needs two, got %d", harness.ErrUsage, len(ms))
	}
	doc := &machinesDocument{Title: "Which lock on which machine?", Table: machinesTable(ms), Differences: differences(ms)}
	var origins []string
	for _, m := range ms {
		one := outline(m.Run)
		one.Name, one.Measured = m.Name, true
		doc.Machines = append(doc.Machines, one)
		origins = append(origins, m.Name+": "+chart.Hardware(m.Run.Manifest.Machine))
		doc.Tokens = one.Tokens
	}
	doc.Origin = strings.Join(origins, " · ")
	doc.Verdicts = verdictsTable(doc.Machines)
	xs := chart.Matches(ms)
	first := []int{chart.LargestMatch(xs, false), chart.LargestMatch(xs, true)}
	room := foldedRoom
	for _, folded := range []bool{false, true} {
		for i, x := range xs {
			if folded == (i == first[0] || i == first[1]) || folded && room <= 0 {
				continue
			}
			s, err := draftMatch(x, strconv.Itoa(i), folded)
			if err != nil {
				return nil, err
			}
			if folded {
				room -= s.size()
			}
			doc.Sections = append(doc.Sections, s)
		}
	}
	if doc.Sections != nil {
		doc.glossary = newGlossary(ms[0].Run)
	}
	return doc, nil
}

// verdictsTable shows the verdicts of the machines side by side, one row per situation, for
// any number of processors.
func verdictsTable(machines []*document) chart.Table {
	t := chart.Table{Head: chart.Titles("situation")}
	for i, m := range machines {
		t.Head = append(t.Head, chart.Piece{Text: m.Name})
		at := -1
		for _, d := range m.Decisions {
			name, before := requirement(d)+", "+d.Situation.Workload(), at
			if at = slices.IndexFunc(t.Rows, func(row []string) bool { return row[0] == name }); at < 0 {
				at = before + 1 // keep each machine's order of situations
				row := slices.Repeat([]string{numfmt.Unknown}, len(machines)+1)
				row[0] = name
				t.Rows = slices.Insert(t.Rows, at, row)
			}
			cell := "no recommendation"
			if d.Use != "" {
				cell = d.Use + ", " + chart.Estimated(d)
			}
			t.Rows[at][i+1] = cell
		}
	}
	return t
}

const nothingShared = "No two of these runs measured the same workload, so there is nothing to draw side by side."

// Headline counts the differences.
func (d *machinesDocument) Headline() string {
	if len(d.Differences) == 0 {
		return "Settings and coverage: the runs do not differ"
	}
	return "Settings and coverage: " + numfmt.Plural(len(d.Differences), "difference") + " between the runs"
}

// Shared returns the note for machines without common cases.
func (d *machinesDocument) Shared() string {
	if d.Sections == nil {
		return nothingShared
	}
	return ""
}

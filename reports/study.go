package reports

import (
	"cmp"
	"fmt"
	"html/template"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// A study is the section of the page on one finding.
type study struct {
	ID, Title, Answer string
	Folded            bool   // its charts are folded
	Interrupted       string // "" if the experiment completed
	Warnings          []harness.Warning
	Plates            []plate
	Listing           string
	Method, Source    string
	Took              string
	Notes             []string
}

// A plate is a table of a finding, drawn if the table requests it.
type plate struct {
	ID, Caption string
	name        string // of the chart
	pic         picture
	SVG         template.HTML // drawn by this package; its texts are escaped
	How         string        // to read it
	Data        []piece       // the lines and the file that it draws
	Blank       string        // reason for a missing drawing
	Head        []string
	Rows        []plateRow
	Omitted     string // rows omitted, and their place
}

type plateRow struct {
	Name  string
	Cells []plateCell
}

// A plateCell is text; Words is true for text that is not a figure.
type plateCell struct {
	Text  string
	Words bool
}

// A findingChart is a table to draw, with its name.
type findingChart struct {
	name    string
	finding *harness.Finding
	table   harness.Table
	number  int // of the table in the finding, from 1
}

// FindingCharts returns the names of the charts of the hardware experiments of run that
// have something to draw. [WritePNG] and [WriteSVG] accept them like the names of [Suite].
// A name is the experiment's, with "-2" and so on for its second and further charts.
func FindingCharts(run *result.Run) (names []string) {
	for _, c := range findingCharts(tidy(run)) {
		if pic, _ := drawTable(c.table); pic.height > 0 {
			names = append(names, c.name)
		}
	}
	return names
}

// findingCharts lists the tables of run to draw. Names are unique, also among the charts of
// the Suite.
func findingCharts(run *result.Run) (out []findingChart) {
	taken := map[string]bool{safetyCostName: true}
	for _, c := range Suite {
		taken[c.Name] = true
	}
	for i, f := range findings(run) {
		n := 0
		for k, t := range f.Tables {
			if t.Chart == harness.NoChart {
				continue
			}
			n++
			name := slug(f, i)
			if n > 1 {
				name = fmt.Sprintf("%s-%d", name, n)
			}
			for taken[name] {
				name = "hardware-" + name
			}
			taken[name] = true
			out = append(out, findingChart{name, f, t, k + 1})
		}
	}
	return out
}

func studies(run *result.Run) (out []study, err error) {
	charts := findingCharts(run)
	for i, f := range findings(run) {
		s := study{
			// The number keeps addresses unique if two findings have one name.
			ID: fmt.Sprintf("hardware-%d-%s", i+1, slug(f, i)), Title: title(f), Answer: answer(f),
			Listing: f.Listing, Method: f.Method, Source: numfmt.Sentence(f.Source), Notes: f.Notes,
		}
		if f.Interrupted {
			s.Interrupted = stopped
		}
		if f.Elapsed > 0 {
			s.Took = f.Elapsed.Round(max(time.Millisecond, f.Elapsed.Truncate(10*time.Second)/100)).String()
		}
		for _, w := range f.Warnings {
			s.Warnings = append(s.Warnings, readable(w))
		}
		for k, t := range f.Tables {
			p, err := newPlate(t, f, k+1, fmt.Sprintf("%s-%d", s.ID, k+1))
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", f.Name, err)
			}
			if t.Chart != harness.NoChart {
				p.name, charts = charts[0].name, charts[1:]
			}
			s.Plates = append(s.Plates, p)
		}
		out = append(out, s)
	}
	return out, nil
}

// newPlate draws t, table number k of f, and formats its figures.
func newPlate(t harness.Table, f *harness.Finding, k int, id string) (plate, error) {
	p := plate{ID: id, Caption: t.Caption, Data: tableSource(f, k)}
	if p.Caption == "" {
		p.Caption = "Figures"
	}
	if t.Chart != harness.NoChart {
		pic, how := drawTable(t)
		p.How, p.Blank, p.pic = how, pic.answer, pic
		if pic.height > 0 {
			svg, err := inline(pic, id, p.Caption, answer(f))
			if err != nil {
				return p, fmt.Errorf("table %q: %w", t.Caption, err)
			}
			p.SVG = template.HTML(svg)
		}
	}
	if t.Chart == harness.Heat && len(t.Columns) > mostHeatColumns {
		p.Omitted = fmt.Sprintf("%d by %d figures are too many to read here; results.jsonl has them.", len(t.Rows), len(t.Columns))
		return p, nil
	}
	p.fill(t)
	return p, nil
}

// tableSource names the table of a chart and its file.
func tableSource(f *harness.Finding, k int) []piece {
	return source{experiments: []string{cmp.Or(f.Name, "without a name")}, table: k}.sentence()
}

// fill formats the figures of t.
func (p *plate) fill(t harness.Table) {
	p.Head = []string{t.Label}
	for _, c := range t.Columns {
		name := c.Name
		if c.Unit != "" {
			name += ", " + c.Unit
		}
		p.Head = append(p.Head, name)
	}
	rows := t.Rows
	if len(rows) > mostTableRows {
		rows = rows[:mostTableRows]
		p.Omitted = omission(len(t.Rows))
	}
	for _, r := range rows {
		row := plateRow{Name: r.Label}
		for j := range t.Columns { // a short row is filled up, a long one cut
			c := plateCell{Text: unknown}
			if j < len(r.Cells) {
				c = plateCell{cellFigure(r.Cells[j]), r.Cells[j].Text != ""}
			}
			row.Cells = append(row.Cells, c)
		}
		p.Rows = append(p.Rows, row)
	}
}

// standalone returns the chart as a separate page.
func (c findingChart) standalone(run *result.Run) page {
	p := page{title: title(c.finding), answer: answer(c.finding), caption: c.table.Caption, foot: origin(run)}
	p.data = plain(tableSource(c.finding, c.number))
	p.pic, p.note = drawTable(c.table)
	if p.pic.height == 0 {
		p.caption += ": " + p.pic.answer
	}
	if c.finding.Interrupted {
		p.note = stopped + " " + p.note
	}
	return p
}

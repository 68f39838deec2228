package page

import (
	"cmp"
	"fmt"
	"html/template"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
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
	Name        string // of the chart
	Pic         draw.Picture
	SVG         template.HTML // drawn by this package; its texts are escaped
	How         string        // to read it
	Data        []chart.Piece // the lines and the file that it draws
	Blank       string        // reason for a missing drawing
	Head        []string
	Rows        []plateRow
	Omitted     string // rows omitted, and their place
}

// Texts returns the rows of p as texts.
func (p plate) Texts() (out [][]string) {
	for _, r := range p.Rows {
		row := []string{r.Name}
		for _, c := range r.Cells {
			row = append(row, c.Text)
		}
		out = append(out, row)
	}
	return out
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

func studies(run *result.Run) (out []study, err error) {
	charts := chart.TableCharts(run)
	for i, f := range chart.Findings(run) {
		s := study{
			// The number keeps addresses unique if two findings have one name.
			ID: fmt.Sprintf("hardware-%d-%s", i+1, chart.Slug(f, i)), Title: chart.Title(f), Answer: chart.Answer(f),
			Listing: f.Listing, Method: f.Method, Source: numfmt.Sentence(f.Source), Notes: f.Notes,
		}
		if f.Interrupted {
			s.Interrupted = chart.Stopped
		}
		if f.Elapsed > 0 {
			s.Took = f.Elapsed.Round(max(time.Millisecond, f.Elapsed.Truncate(10*time.Second)/100)).String()
		}
		for _, w := range f.Warnings {
			s.Warnings = append(s.Warnings, chart.Readable(w))
		}
		for k, t := range f.Tables {
			p, err := newPlate(t, f, k+1, fmt.Sprintf("%s-%d", s.ID, k+1))
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", f.Name, err)
			}
			if t.Chart != harness.NoChart {
				p.Name, charts = charts[0].Name, charts[1:]
			}
			s.Plates = append(s.Plates, p)
		}
		out = append(out, s)
	}
	return out, nil
}

func newPlate(t harness.Table, f *harness.Finding, k int, id string) (plate, error) {
	p := plate{ID: id, Caption: t.Caption, Data: tableSource(f, k)}
	if p.Caption == "" {
		p.Caption = "Figures"
	}
	if t.Chart != harness.NoChart {
		pic, how := chart.DrawTable(t)
		p.How, p.Blank, p.Pic = how, pic.Answer, pic.Picture
		if pic.Height > 0 {
			svg, err := draw.Inline(pic.Picture, id, p.Caption, chart.Answer(f))
			if err != nil {
				return p, fmt.Errorf("table %q: %w", t.Caption, err)
			}
			p.SVG = template.HTML(svg)
		}
	}
	if t.Chart == harness.Heat && len(t.Columns) > chart.MostHeatColumns {
		p.Omitted = fmt.Sprintf("%d by %d figures are too many to read here; results.jsonl has them.", len(t.Rows), len(t.Columns))
		return p, nil
	}
	p.fill(t)
	return p, nil
}

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
	if len(rows) > chart.MostTableRows {
		rows = rows[:chart.MostTableRows]
		p.Omitted = chart.Omission(len(t.Rows))
	}
	for _, r := range rows {
		row := plateRow{Name: r.Label}
		for j := range t.Columns { // a short row is filled up, a long one cut
			c := plateCell{Text: numfmt.Unknown}
			if j < len(r.Cells) {
				c = plateCell{chart.CellFigure(r.Cells[j]), r.Cells[j].Text != ""}
			}
			row.Cells = append(row.Cells, c)
		}
		p.Rows = append(p.Rows, row)
	}
}

func tableSource(f *harness.Finding, k int) []chart.Piece {
	return chart.Source{Experiments: []string{cmp.Or(f.Name, "without a name")}, Table: k}.Sentence()
}

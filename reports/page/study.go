package page

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A study is the section of the page on one finding.
type study struct {
	ID, Title, Answer string
	Folded            bool   // its charts are folded
	Interrupted       string // "" if the experiment completed
	Warnings          []harness.Warning
	Figures           []figure // one of each table
	Listing           string
	Method, Source    string
	Took              string
	Notes             []string
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
			name := ""
			if t.Chart != harness.NoChart {
				name, charts = charts[0].Name, charts[1:]
			}
			fig, err := tableFigure(t, f, k+1, name, fmt.Sprintf("%s-%d", s.ID, k+1))
			if err != nil {
				return nil, fmt.Errorf("experiment %s: %w", f.Name, err)
			}
			s.Figures = append(s.Figures, fig)
		}
		out = append(out, s)
	}
	return out, nil
}

// tableFigure returns table number k of f, drawn if the table requests it. The answer of a
// table without a drawing is the reason for that.
func tableFigure(t harness.Table, f *harness.Finding, k int, name, id string) (figure, error) {
	var pic chart.Picture
	how := ""
	if t.Chart != harness.NoChart {
		pic, how = chart.DrawTable(t)
	}
	if pic.Height > 0 {
		pic.Answer = chart.Answer(f)
	}
	pic.Data = chart.Source{Experiments: []string{cmp.Or(f.Name, "without a name")}, Table: k}
	crowded := t.Chart == harness.Heat && len(t.Columns) > chart.MostHeatColumns
	if !crowded {
		pic.Numbers = tableNumbers(t)
	}
	fig, err := newFigure(pic, name, id, cmp.Or(t.Caption, "Figures"), how)
	if crowded {
		fig.Omitted = fmt.Sprintf("%d by %d figures are too many to read here; results.jsonl has them.", len(t.Rows), len(t.Columns))
	}
	return fig, err
}

func tableNumbers(t harness.Table) chart.Table {
	heads := []string{t.Label}
	for _, c := range t.Columns {
		heads = append(heads, strings.TrimSuffix(c.Name+", "+c.Unit, ", "))
	}
	out := chart.Table{Head: chart.Titles(heads...)}
	for _, r := range t.Rows {
		row := []string{r.Label}
		for j := range t.Columns { // a short row is filled up, a long one cut
			text := numfmt.Unknown
			if j < len(r.Cells) {
				text = chart.CellFigure(r.Cells[j])
			}
			row = append(row, text)
		}
		out.Rows = append(out.Rows, row)
	}
	return out
}

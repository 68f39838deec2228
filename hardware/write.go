package hardware

import (
	"bytes"
	"fmt"
	"io"

	"locklab/harness/result"
	"locklab/internal/table"
)

// Write prints f as text: the tables, the notes, the warnings and the answer.
func Write(w io.Writer, f *result.Finding) error {
	var out bytes.Buffer
	for _, t := range f.Tables {
		writeTable(&out, t)
		out.WriteByte('\n')
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	for _, w := range f.Warnings {
		fmt.Fprintf(&out, "warning (%s): %s\n  remedy: %s\n", w.Kind, w.Text, w.Remedy)
	}
	fmt.Fprintf(&out, "answer: %s\n", f.Answer)
	_, err := w.Write(out.Bytes())
	return err
}

// maxField is the maximum printed rows of a field; result files and charts have all.
const maxField = 16

func writeTable(out *bytes.Buffer, t result.Table) {
	fmt.Fprintln(out, t.Caption)
	if t.Chart == result.Heat && len(t.Rows) > maxField {
		fmt.Fprintf(out, "  %d rows: see them as a chart, with --out\n", len(t.Rows))
		return
	}
	head := []any{"  " + t.Label}
	for _, c := range t.Columns {
		if c.Unit != "" {
			c.Name += ", " + c.Unit
		}
		head = append(head, c.Name)
	}
	text := table.New(out, head...)
	for _, r := range t.Rows {
		line := []any{"  " + r.Label}
		for _, c := range r.Cells {
			line = append(line, c)
		}
		text.Row(line...)
	}
	_ = text.Flush() // a bytes.Buffer never fails
}

func number(x float64) string { return result.Cell{Median: x, Lo: x, Hi: x, N: 1}.String() }

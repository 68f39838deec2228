// Package table prints rows of text in aligned columns.
package table

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// A Table aligns the columns of its rows.
type Table struct{ *tabwriter.Writer }

// New returns a table that is written to out, with the cells of its heading.
func New(out io.Writer, head ...any) Table {
	t := Table{tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	if len(head) > 0 {
		t.Row(head...)
	}
	return t
}

// Row adds a row, which Flush writes. Flush reports a failed write.
func (t Table) Row(cells ...any) {
	fmt.Fprintf(t, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
}

package evidence

import (
	"bytes"
	"fmt"
	"io"
)

// Write prints listings as text: for each a line that names it, then one line for each
// instruction with its offset and bytes in hexadecimal. An arrow marks atomic
// instructions; the note follows a semicolon. It returns the error of w.
func Write(w io.Writer, ls []Listing) error {
	var out bytes.Buffer
	for i, l := range ls {
		if i > 0 {
			out.WriteByte('\n')
		}
		writeListing(&out, l)
	}
	_, err := w.Write(out.Bytes())
	return err
}

func writeListing(out *bytes.Buffer, l Listing) {
	var code, text int
	for _, line := range l.Lines {
		code = max(code, 2*len(line.Bytes))
		if line.Note != "" {
			text = max(text, len(line.Text))
		}
	}
	fmt.Fprintf(out, "%s %s: %s\n", l.Name, l.Operation, l.Source)
	for _, line := range l.Lines {
		arrow := "  "
		if line.Atomic {
			arrow = "->"
		}
		fmt.Fprintf(out, "%s %04x  %-*x  ", arrow, line.Offset, code, line.Bytes)
		if line.Note != "" {
			fmt.Fprintf(out, "%-*s  ; %s\n", text, line.Text, line.Note)
		} else {
			fmt.Fprintln(out, line.Text)
		}
	}
}

package experiment

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"text/tabwriter"
)

// Write prints f as text: the tables, the notes and the answer.
func Write(w io.Writer, f *Finding) error {
	var out bytes.Buffer
	for _, t := range f.Tables {
		writeTable(&out, t)
		out.WriteByte('\n')
	}
	for _, n := range f.Notes {
		fmt.Fprintf(&out, "note: %s\n", n)
	}
	fmt.Fprintf(&out, "answer: %s\n", f.Answer)
	_, err := w.Write(out.Bytes())
	return err
}

func writeTable(out *bytes.Buffer, t Table) {
	fmt.Fprintln(out, t.Caption)
	tw := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	head := []string{"  " + t.Label}
	for _, c := range t.Columns {
		if c.Unit != "" {
			c.Name += ", " + c.Unit
		}
		head = append(head, c.Name)
	}
	fmt.Fprintln(tw, strings.Join(head, "\t"))
	for _, r := range t.Rows {
		line := []string{"  " + r.Label}
		for _, c := range r.Cells {
			line = append(line, c.String())
		}
		fmt.Fprintln(tw, strings.Join(line, "\t"))
	}
	// A bytes.Buffer takes everything.
	_ = tw.Flush()
}

// String returns the cell as text, such as "412 k [380 k..440 k]". The range
// is left out where its ends look the same.
func (c Cell) String() string {
	switch {
	case c.Text != "":
		return c.Text
	case c.N == 0:
		return "-"
	}
	lo, hi := number(c.Lo), number(c.Hi)
	if lo == hi {
		return lo
	}
	return fmt.Sprintf("%s [%s..%s]", number(c.Median), lo, hi)
}

// number writes x with three significant figures, thousands as "k" and millions
// as "M", and whole numbers below ten thousand in full.
func number(x float64) string {
	switch a := math.Abs(x); {
	case a >= 999_500:
		return strconv.FormatFloat(x/1e6, 'f', places(a/1e6), 64) + " M"
	case a >= 10_000:
		return strconv.FormatFloat(x/1e3, 'f', places(a/1e3), 64) + " k"
	case x == math.Trunc(x) || a >= 100:
		return strconv.FormatFloat(x, 'f', 0, 64)
	default:
		return strconv.FormatFloat(x, 'g', 3, 64)
	}
}

// places returns how many decimals give a > 0 three significant figures.
func places(a float64) int {
	return max(0, min(2, 2-int(math.Floor(math.Log10(a)))))
}

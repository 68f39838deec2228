package page

import (
	_ "embed"
	"fmt"
	"io"
	"strings"
	"text/template"
	"unicode/utf8"

	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// minText is the least width of a text; narrower terminals wrap.
const minText = 60

//go:embed text.txt.tmpl
var terminalText string

// Text writes d for a terminal. No line is wider than width columns, at least 60.
func (d *Document) Text(w io.Writer, width int) error {
	width = max(width, minText)
	wrap := func(first, rest string) func(string) string {
		return func(s string) string { return wrapped(first, rest, numfmt.Plain(s), width) }
	}
	t := template.Must(template.New("text").Funcs(template.FuncMap{
		"line": wrap("", ""), "item": wrap("  - ", "    "),
		"field": func(name, s string) string {
			if s == "" {
				return ""
			}
			return wrap(fmt.Sprintf("  %-9s ", name), strings.Repeat(" ", 12))(s)
		},
		"grid": func(head []chart.Piece, rows [][]string) string {
			return numfmt.Plain(grid(chart.Texts(head), rows, width))
		},
		"plainText": plainText, "noDecision": func() string { return noDecision },
	}).Parse(terminalText))
	return execute(w, t, d.form, d.data)
}

// wrapped returns s in lines of at most width columns, after first and rest.
func wrapped(first, rest, s string, width int) string {
	var out strings.Builder
	cur := first
	for i, word := range draw.Words(s) {
		switch {
		case i == 0:
			cur += word
		case utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) > width:
			out.WriteString(cur + "\n")
			cur = rest + word
		default:
			cur += " " + word
		}
	}
	return out.String() + cur + "\n"
}

// mostWidth limits a table in a text, in columns.
const mostWidth = 100

// grid returns a table; columns that do not fit are below, next to a repeated first one.
func grid(head []string, rows [][]string, width int) string {
	var out strings.Builder
	lines := append([][]string{head}, rows...)
	widths := make([]int, len(head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	for from := 1; from < len(head); {
		to, wide := from, widths[0]
		for to < len(head) && (to == from || wide+1+widths[to] <= min(width, mostWidth)) {
			wide += 1 + widths[to]
			to++
		}
		if from > 1 {
			out.WriteByte('\n')
		}
		for _, line := range lines {
			row := fmt.Sprintf("%-*s", widths[0], line[0])
			for i := from; i < to; i++ {
				row += fmt.Sprintf(" %*s", widths[i], line[i])
			}
			out.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		from = to
	}
	return out.String()
}

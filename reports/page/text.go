package page

import (
	_ "embed"
	"text/template"

	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// minText is the least width of WriteVerdict; narrower terminals wrap.
const minText = 60

// WriteVerdict writes the verdict on run, and the evidence against it, as text. No line is
// wider than width columns, at least 60.
func WriteVerdict(w io.Writer, run *result.Run, width int) error {
	run = chart.Sanitize(run)
	t := newText(width)
	t.colours = showsColours(w)
	if t.simulated(run) {
		return t.writeTo(w)
	}
	doc := outline(run)
	doc.Expected = expectedText(run)
	t.execute("report", doc)
	t.execute("tables", shortTables(run))
	return t.writeTo(w)
}

// WriteTables writes the tables of run, which compare all locks with the baseline, as text.
// No line is wider than width columns, at least 60.
func WriteTables(w io.Writer, run *result.Run, width int) error {
	t := newText(width)
	t.colours = showsColours(w)
	t.execute("tables", shortTables(chart.Sanitize(run)))
	return t.writeTo(w)
}

func (t *textWriter) simulated(run *result.Run) bool {
	if len(run.Results)+len(run.Findings)+len(run.Faults) > 0 || len(run.Simulations) == 0 {
		return false
	}
	t.line(simulatedTitle)
	t.line(simulatedOrigin(run))
	for _, m := range chart.ModelledOf(run) {
		t.gap()
		t.line(m.Name() + ", " + chart.WorkloadOf(m.Like))
		t.item(chart.ModelRate.Answer(m))
		t.item(m.Accuracy())
	}
	if len(run.Damage) > 0 {
		t.gap()
	}
	for _, d := range run.Damage {
		t.item(d)
	}
	return true
}

// A textWriter is a text of lines of limited width.
type textWriter struct {
	buf   strings.Builder
	width int
	err   error

	colours bool
}

func newText(width int) *textWriter { return &textWriter{width: max(width, minText)} }

//go:embed text.txt.tmpl
var terminalText string

func (t *textWriter) execute(name string, data any) {
	part := func(write func(p *textWriter)) string {
		p := newText(t.width)
		p.colours = t.colours
		write(p)
		return p.buf.String()
	}
	parsed, err := template.New("text").Funcs(template.FuncMap{
		"line":    func(s string) string { return part(func(p *textWriter) { p.line(s) }) },
		"item":    func(s string) string { return part(func(p *textWriter) { p.item(s) }) },
		"field":   func(name, s string) string { return part(func(p *textWriter) { p.field(name, s) }) },
		"grid":    func(v tableView) string { return part(func(p *textWriter) { p.grid(v) }) },
		"columns": func(rows chart.Table) string { return part(func(p *textWriter) { p.columns(rows) }) },
		"texts":   chart.Texts, "plainText": plainText, "trim": strings.TrimSpace, "noDecision": func() string { return noDecision },
	}).Parse(terminalText)
	if err == nil {
		err = parsed.ExecuteTemplate(&t.buf, name, data)
	}
	t.err = cmp.Or(t.err, err)
}

func (t *textWriter) writeTo(w io.Writer) error {
	if t.err == nil {
		_, t.err = io.WriteString(w, strings.ReplaceAll(t.buf.String(), numfmt.Space, " "))
	}
	if t.err != nil {
		return fmt.Errorf("reports: %w", t.err)
	}
	return nil
}

func (t *textWriter) gap() { t.buf.WriteByte('\n') }

func (t *textWriter) line(s string) { t.wrapped("", "", s) }

func (t *textWriter) item(s string) { t.wrapped("  - ", "    ", s) }

func (t *textWriter) field(name, s string) {
	if s != "" {
		t.wrapped(fmt.Sprintf("  %-9s ", name), strings.Repeat(" ", 12), s)
	}
}

func (t *textWriter) wrapped(first, rest, s string) {
	cur := first
	for i, word := range draw.Words(s) {
		switch {
		case i == 0:
			cur += word
		case utf8.RuneCountInString(cur)+1+utf8.RuneCountInString(word) > t.width:
			t.buf.WriteString(cur + "\n")
			cur = rest + word
		default:
			cur += " " + word
		}
	}
	t.buf.WriteString(cur + "\n")
}

// Limits of a table in one line of text.
const (
	mostColumns = 3   // of ratios next to the other figures
	mostWidth   = 100 // in characters
)

func shortTables(run *result.Run) (out []tableView) {
	decisions := judge.Decisions(run)
	for _, of := range judge.Tables(run, run.Baseline) {
		var first, rest []int
		for _, i := range []int{of.Detail, 0, of.Detail - 1, of.Detail + 1} {
			if i >= 0 && i < len(of.Columns) && !slices.Contains(first, i) && len(first) < mostColumns {
				first = append(first, i)
			}
		}
		slices.Sort(first)
		for i := range of.Columns {
			if !slices.Contains(first, i) {
				rest = append(rest, i)
			}
		}
		out = append(out, viewTable(of, slices.Concat(first, rest), len(first), recommended(of, decisions)))
	}
	return out
}

// grid writes a table; columns that do not fit are below, next to a repeated first one.
func (t *textWriter) grid(v tableView) {
	head := chart.Texts(v.Head)
	lines := append([][]string{head}, v.Rows...)
	paint := func(line, cell int) string {
		if line == 0 || !t.colours {
			return lines[line][cell]
		}
		return v.Colours[line-1][cell].paint(lines[line][cell])
	}
	widths := make([]int, len(head))
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	const between = 1 // a ratio ends in a mark or a space
	for from := 1; from < len(head); {
		to, width := from, widths[0]
		for to < len(head) && (to == from || width+between+widths[to] <= min(t.width, mostWidth)) {
			width += between + widths[to]
			to++
		}
		if from > 1 {
			t.gap()
		}
		for k, line := range lines {
			row := paint(k, 0) + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(line[0]))
			for i := from; i < to; i++ {
				row += strings.Repeat(" ", between+widths[i]-utf8.RuneCountInString(line[i])) + paint(k, i)
			}
			t.buf.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		from = to
	}
}

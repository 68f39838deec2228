package page

import (
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
	run = chart.Tidy(run)
	t := &textWriter{width: max(width, minText)}
	if t.simulated(run) {
		return t.writeTo(w)
	}
	t.line("Which lock for which contention?")
	t.line(origin(run))
	ds := judge.Decisions(run)
	q := assess(run, ds)
	t.gap()
	t.line(q.Headline())
	t.gap()
	t.line(cmp.Or(plainText(q.headline(ds)), noDecision))
	if text := expectedText(run); text != "" {
		t.gap()
		t.line(text)
	}
	t.answers(answers(ds))
	if bad := exclusions(run); len(bad) > 0 {
		t.gap()
		t.line("Locks that do not compete")
		for _, r := range bad {
			t.item(r.Lock + ": " + r.Reason)
		}
	}
	t.quality(q)
	t.gap()
	t.tables(run)
	return t.writeTo(w)
}

// WriteTables writes the tables of run, which compare all locks with the baseline, as text.
// No line is wider than width columns, at least 60.
func WriteTables(w io.Writer, run *result.Run, width int) error {
	t := &textWriter{width: max(width, minText)}
	t.tables(chart.Tidy(run))
	return t.writeTo(w)
}

func (t *textWriter) tables(run *result.Run) {
	for i, table := range judge.Tables(run, run.Baseline) {
		if i > 0 {
			t.gap()
		}
		t.compared(table)
	}
}

// simulated writes the text for a run without measurements, and reports whether run is one.
func (t *textWriter) simulated(run *result.Run) bool {
	if len(run.Results)+len(run.Findings)+len(run.Faults) > 0 || len(run.Simulations) == 0 {
		return false
	}
	t.line(simulatedTitle)
	t.line(simulatedOrigin(run))
	for _, m := range chart.ModelledOf(run, nil) {
		t.gap()
		t.line(m.Begin() + ", " + chart.WorkloadOf(m.Like))
		t.item(chart.DrawModelRate(m).Answer)
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

// writeTo writes t with common spaces.
func (t *textWriter) writeTo(w io.Writer) error {
	if _, err := io.WriteString(w, strings.ReplaceAll(t.buf.String(), numfmt.Space, " ")); err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

type textWriter struct {
	buf   strings.Builder
	width int
}

func (t *textWriter) gap() { t.buf.WriteByte('\n') }

func (t *textWriter) line(s string) { t.wrapped("", "", s) }

// item writes s as a wrapped item of a list.
func (t *textWriter) item(s string) { t.wrapped("  - ", "    ", s) }

// field writes a value under its name, wrapped; it omits an empty one.
func (t *textWriter) field(name, s string) {
	if s != "" {
		t.wrapped(fmt.Sprintf("  %-9s ", name), strings.Repeat(" ", 12), s)
	}
}

// wrapped writes s after first, and its further lines after rest.
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

// answers writes a paragraph for each decision.
func (t *textWriter) answers(as []answerRow) {
	for _, a := range as {
		t.gap()
		t.line(a.Requirement + " (" + a.Setting + ")")
		t.field("use", a.Use)
		t.field("why", a.Why)
		t.field("rate", a.Rate)
		t.field("tolerates", a.Class)
	}
}

func (t *textWriter) quality(q quality) {
	if q.Good() {
		return
	}
	t.gap()
	t.line("Warnings")
	if q.Partial != "" {
		t.item(q.Partial)
	}
	for _, text := range q.Items() {
		t.item(text)
	}
	if n := len(q.Rest()); n > 0 {
		t.item("The report has " + numfmt.Plural(n, "more kind") + " of warning.")
	}
}

// Limits of a table in one line of text.
const (
	mostColumns = 3   // of ratios next to the other figures
	mostWidth   = 100 // in characters
)

// compared writes the most important columns next to the other figures, then the rest.
func (t *textWriter) compared(of judge.Table) {
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
	v := viewTable(of, slices.Concat(first, rest), len(first))
	t.line(v.Title)
	t.grid(chart.Texts(v.Head), v.Rows)
	for _, s := range slices.Concat(v.Notes, v.Sentences) {
		t.line(s)
	}
}

// grid writes a table: the first column to the left, the others to the right. Columns that
// do not fit are below, next to a repeated first column.
func (t *textWriter) grid(head []string, rows [][]string) {
	lines := append([][]string{head}, rows...)
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
		for _, line := range lines {
			row := line[0] + strings.Repeat(" ", widths[0]-utf8.RuneCountInString(line[0]))
			for i := from; i < to; i++ {
				row += strings.Repeat(" ", between+widths[i]-utf8.RuneCountInString(line[i])) + line[i]
			}
			t.buf.WriteString(strings.TrimRight(row, " ") + "\n")
		}
		from = to
	}
}

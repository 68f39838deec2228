package page

import (
	"cmp"
	_ "embed"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"
	"unicode/utf8"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/table"
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
		"grid": func(head []chart.Heading, rows [][]string) string {
			return numfmt.Plain(grid(chart.Texts(head), rows, width))
		},
		"plainText": plainText, "noDecision": func() string { return noDecision },
	}).Parse(terminalText))
	return execute(w, t.ExecuteTemplate, d.form, d.data)
}

// wrapped: first and rest have the same width.
func wrapped(first, rest, s string, width int) string {
	lines := draw.Wrap(s, func(line string) bool { return utf8.RuneCountInString(rest+line) <= width })
	return first + strings.Join(lines, "\n"+rest) + "\n"
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

// WriteAgreement writes the decisions of runs. It reports whether the share of runs that
// agree on each decision is at least least, and the share of large differences that are
// significant at least significant.
func WriteAgreement(out io.Writer, runs []*result.Run, least, significant float64) (agree bool, err error) {
	rows := judge.Across(runs)
	if len(rows) == 0 {
		return false, fmt.Errorf("%w: the runs have no result to decide by", harness.ErrUsage)
	}
	lead := judge.Row{Situation: "headline"}
	for _, run := range runs {
		lead.Choices = append(lead.Choices, plainHeadline(run))
	}
	t := table.New(out, "situation", "workers", "workload", "agree", "chosen")
	failed := false
	for _, r := range append(rows, lead) {
		mark, tallies := "", r.Tallies()
		most := len(tallies[0])
		if len(r.Choices) < len(runs) || float64(most)/float64(len(runs)) < least {
			mark, failed = "  FAILED", true
		}
		chosen, workers := choices(tallies), fmt.Sprint(r.Workers)
		if r.Workload == "" {
			chosen, workers = numfmt.Plural(len(tallies), "headline"), ""
		}
		t.Row(r.Situation, workers, r.Workload, fmt.Sprintf("%d of %d", most, len(runs)), chosen+mark)
	}
	if err := t.Flush(); err != nil {
		return false, err
	}
	for _, same := range lead.Tallies() {
		fmt.Fprintf(out, "%d of %d: %s\n", len(same), len(runs), numfmt.Plain(same[0]))
	}
	var all judge.Power
	for _, run := range runs {
		p := judge.PowerOf(judge.Tables(run, ""))
		all.Large, all.Significant = all.Large+p.Large, all.Significant+p.Significant
		fmt.Fprintf(out, "%s: %d of %d differences of 25 %% or more are significant\n", run.Dir, p.Significant, p.Large)
	}
	if float64(all.Significant) < significant*float64(all.Large) {
		failed = true
		fmt.Fprintf(out, "FAILED: less than %s of these differences are significant\n", numfmt.Plain(numfmt.Percent(100*significant)))
	}
	return !failed, nil
}

func choices(tallies [][]string) string {
	var parts []string
	for _, same := range tallies {
		parts = append(parts, fmt.Sprintf("%s: %d", cmp.Or(same[0], "no recommendation"), len(same)))
	}
	return strings.Join(parts, ", ")
}

// WriteRanks writes a table with the work of each rank of run.
func WriteRanks(out io.Writer, run *result.Run) error {
	parts := run.Manifest.Parts
	// A result of fewer ranks is of a lock that violated a promise in some rank.
	merged := slices.DeleteFunc(slices.Clone(run.Results), func(r *result.Result) bool { return len(r.Ranks) != len(parts) })
	total := uint64(0)
	for _, r := range merged {
		for _, k := range r.Ranks {
			total += k.Ops
		}
	}
	t := table.New(out, "rank", "host", "workers", "acquisitions", "share", "opened late", "clock")
	for i, part := range parts {
		if len(merged) == 0 {
			t.Row(i, part.Host, "-", "-", "-", "-", "-")
			continue
		}
		var s result.Rank
		for _, r := range merged {
			k := r.Ranks[i]
			s.Host, s.Workers, s.Ops, s.Late, s.Error = k.Host, max(s.Workers, k.Workers), s.Ops+k.Ops, max(s.Late, k.Late), max(s.Error, k.Error)
		}
		share := "-"
		if total > 0 {
			share = numfmt.Percent(100 * float64(s.Ops) / float64(total))
		}
		t.Row(i, s.Host, s.Workers, s.Ops, share, numfmt.Nanos(float64(s.Late)), clockText(merged, i, s.Error))
	}
	return t.Flush()
}

// clockText describes the clock of rank i, whose offset has at most that error in ns.
func clockText(rs []*result.Result, i int, errorNs int64) string {
	other := func(r *result.Result) bool {
		return slices.ContainsFunc(r.Ranks, func(k result.Rank) bool { return k.Clock != r.Ranks[0].Clock })
	}
	switch {
	case !slices.ContainsFunc(rs, other):
		return "the same"
	case slices.ContainsFunc(rs, func(r *result.Result) bool { return r.Ranks[i].Error < 0 }):
		return "not known"
	}
	return "±" + numfmt.Nanos(float64(errorNs))
}

package page

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

const mostNames = 6

func share(v float64) string {
	if v >= 0.99995 && v < 1 {
		return "over 99.99 %" // a level of many intervals
	}
	return strconv.FormatFloat(float64(int64(1e4*v+0.5))/1e2, 'f', -1, 64) + " %"
}

func comparisonHeadline(c *judge.Comparison) string {
	counts := chart.CountVerdicts(result.Each(c.Rows, func(r judge.HistorySeries) judge.Verdict { return r.Verdict }))
	switch {
	case c.Outcome() == judge.Worse:
		return fmt.Sprintf("REGRESSED: %s. In all: %s", numfmt.List(casesOf(c, judge.Regressed), mostNames), counts)
	case len(c.Rows) == 0:
		counts = "nothing."
	}
	if c.Outcome() == judge.Unsure {
		return "No verdict: no regression is certain, and none is ruled out. In all: " + counts
	}
	return fmt.Sprintf("No regression over %s. In all: %s", share(c.Tolerance), counts)
}

func casesOf(c *judge.Comparison, v judge.Verdict) []string {
	rows := slices.DeleteFunc(slices.Clone(c.Rows), func(r judge.HistorySeries) bool { return r.Verdict != v })
	return chart.Distinct(rows, func(r judge.HistorySeries) string { return r.Case() })
}

// comparisonFindings returns the reasons for verdicts that the figures do not show, and the
// cases that the tables lack.
func comparisonFindings(c *judge.Comparison) (out []string) {
	for _, r := range c.Rows {
		if r.Note() != "" && planned(r.Verdict) {
			out = append(out, r.Case()+": "+r.Note())
		}
	}
	for _, v := range []judge.Verdict{judge.OnlyBase, judge.OnlyNew} {
		if names := casesOf(c, v); len(names) > 0 {
			out = append(out, fmt.Sprintf("%s%s (%d): %s", strings.ToUpper(string(v[:1])), v[1:], len(names), numfmt.List(names, mostNames)))
		}
	}
	return out
}

func comparisonRemarks(c *judge.Comparison) (out []string) {
	has := func(v judge.Verdict) bool {
		return slices.ContainsFunc(c.Rows, func(r judge.HistorySeries) bool { return r.Verdict == v })
	}
	if c.Tests > 0 {
		how := "over all pairs of rounds (Mann-Whitney test)"
		if c.Paired {
			how = "of the ratios within a round (t-test of their logarithms)"
		}
		out = append(out, fmt.Sprintf("* significant, = equivalent. Ratio: median %s; intervals of %s each, so that all hold together; p corrected by Holm for %s; n = %s. "+
			"Regressed: the whole interval is worse by more than %s. Not worse: it excludes that. Not significant: neither.",
			how, share(c.Level), numfmt.Plural(c.Tests, "comparison"), roundsText(c.Tables()), share(c.Tolerance)))
		out = append(out, noisyNote(c.Tables())...)
	}
	if has(judge.NotSignificant) {
		out = append(out, "Not significant: more rounds, longer windows, fewer cases or a quieter machine narrow the interval.")
	}
	switch {
	case !has(judge.Unmeasured) && len(c.Gaps) == 0:
	case c.Base.Pair != "" && c.New.Pair != "": // these cannot be resumed
		out = append(out, "Not measured: a missing result may have regressed. Measure both builds again.")
	default:
		out = append(out, "Not measured: a missing result may have regressed. Resume with locklab run --resume, or measure it again.")
	}
	if has(judge.Elsewhere) {
		out = append(out, "Inconclusive: the runs are of two machines, so a difference need not be of the code.")
	}
	if has(judge.TooFewRounds) {
		out = append(out, fmt.Sprintf("Too few rounds: with %s at %g together not even rounds that differ completely are significant. Measure more rounds or fewer cases.",
			numfmt.Plural(c.Tests, "comparison"), c.Alpha))
	}
	return out
}

func seriesTitle(h *judge.History, s *judge.HistorySeries) string {
	text := s.Case() + ", " + s.Title()
	if len(h.Sites) > 1 {
		text += " on " + h.Sites[s.Site].Name
	}
	return text
}

func seriesFindings(h *judge.History, s *judge.HistorySeries) (out []string) {
	site, title := h.Sites[s.Site], seriesTitle(h, s)
	figure := func(v float64) string { return numfmt.Plain(chart.FormatUnit(s.Metric.Unit)(v)) }
	for _, c := range s.Changes {
		v := site.Runs[c.At]
		text := fmt.Sprintf("%s: %s from %s on (%s, %s): %s, before %s; %s, p = %.2g", title, c.Verdict, v.Name, v.Commit(), v.Date(),
			figure(c.New), figure(c.Old), chart.GainText(c.Ratio), c.Ratio.P)
		if v.SameCode {
			text += "; both runs are of the same build, so the code is not the reason"
		}
		if len(v.Differs) > 0 {
			text += "; these differ too: " + numfmt.List(v.Differs, len(v.Differs))
		}
		out = append(out, text)
	}
	for i, p := range s.Points {
		switch {
		case p.Off != "":
			least, most := s.Others(i)
			out = append(out, fmt.Sprintf("%s: run %d (%s) is %s: %s, the others of its level %s to %s", title, i+1, site.Runs[i].Commit(), p.Off,
				figure(p.Median), figure(least), figure(most)))
		case p.Broke, p.Missing:
			out = append(out, title+": "+p.Gap)
		}
	}
	return out
}

func historyHeadline(h *judge.History) string {
	var vs []judge.Verdict
	var bad []string
	for i := range h.Series {
		s := &h.Series[i]
		vs = append(vs, s.Verdict)
		if s.Verdict == judge.Regressed {
			bad = append(bad, seriesTitle(h, s))
		}
	}
	counts := chart.CountVerdicts(vs)
	switch h.Outcome() {
	case judge.Worse:
		return fmt.Sprintf("REGRESSED: the last change of %s is for the worse. In all: %s", numfmt.List(bad, mostNames), counts)
	case judge.Unsure:
		return "No verdict: no case is certain to have become worse, and some are inconclusive. In all: " + counts
	}
	return "No case's last change is for the worse. In all: " + counts
}

func historyRemarks(h *judge.History) (out []string) {
	if len(h.To) > 0 {
		out = append(out, fmt.Sprintf("Figures are ratios to %s in the same round under the same workload, so that a slow day cancels. A change may be of either lock.",
			numfmt.Choose(len(h.To), h.To[0], "the first measured lock of "+numfmt.List(h.To, len(h.To)))))
	}
	few := numfmt.Plural(h.Few, "run")
	out = append(out,
		fmt.Sprintf("A change is a step that stays: by ranks, fewer than %g of all orders of the runs of a machine separate the runs of any case as clearly, and the ratio of the two levels exceeds %s. It takes %s of a machine. It shows that the figures moved, not why.",
			h.Alpha, share(h.Tolerance), few),
		fmt.Sprintf("A ratio is to the last earlier run with a figure (Mann-Whitney test over the rounds; Holm's correction for %s; intervals of %s each; n = %s). * significant, = equivalent. Runs of different days differ by more than the code, so it is no change yet.",
			numfmt.Plural(h.Tests, "comparison"), share(h.Level), roundsText(h.Tables())))
	out = append(out, noisyNote(h.Tables())...)
	for _, v := range []struct {
		verdict judge.Verdict
		remedy  string
	}{
		{judge.FewRuns, fmt.Sprintf("Too few runs: neighbours differ, or their intervals do not exclude a loss of more than %s, and fewer than %s cannot separate a step from an off day. 'locklab compare --interleave OLD NEW' compares two builds in one evening.", share(h.Tolerance), few)},
		{judge.OffRun, "Newest run is an outlier: it may be a bad day or the first run of a step. Measure once more."},
		{judge.Unmeasured, "Not measured: the newest run lacks planned results. Resume with locklab run --resume, or measure it again."},
	} {
		if slices.ContainsFunc(h.Series, func(s judge.HistorySeries) bool { return s.Verdict == v.verdict }) {
			out = append(out, v.remedy)
		}
	}
	return out
}

// viewRuns returns a table of runs in words: the rows that keep accepts, and the columns
// from the column first on.
func viewRuns(t judge.Table, first int, keep func(*judge.Case) bool) (v tableView) {
	v.Title = tableTitle(t)
	format := chart.FormatUnit(t.Columns[0].Unit)
	heads := []string{"lock", "workers"}
	levels := t.Machine != "" && first == len(t.Columns)-1
	if levels {
		heads = append(heads, "runs", "level", "least", "most")
	}
	for _, c := range t.Columns[first:] {
		heads = append(heads, c.Run)
	}
	v.Head = chart.Titles(append(heads, "verdict")...)
	for _, r := range t.Rows {
		if !keep(r.Case) {
			continue
		}
		cells := []string{r.Lock, strconv.Itoa(r.Case.Workers)}
		switch l := r.Case.Level; {
		case levels && l != nil:
			cells = append(cells, strconv.FormatInt(l.N, 10), numfmt.Plain(format(l.Value)), numfmt.Plain(format(l.Lo)), numfmt.Plain(format(l.Hi)))
		case levels:
			cells = append(cells, "0", notAvailable, notAvailable, notAvailable)
		}
		for i := first; i < len(t.Columns); i++ {
			cells = append(cells, runCell(r, i, format))
		}
		v.Rows = append(v.Rows, append(cells, string(r.Case.Verdict)))
	}
	return v
}

func runCell(r judge.Entry, column int, format func(float64) string) string {
	run := r.Case.Runs[column]
	switch {
	case run.Violated:
		return "violated"
	case r.Ratios[column] != nil:
		return ratioText(r.Ratios[column])
	}
	return figureText(run.Figure, format)
}

func figureText(f *judge.Figure, format func(float64) string) string {
	if f == nil {
		return notAvailable
	}
	return numfmt.Plain(chart.FigureText(f, format))
}

func planned(v judge.Verdict) bool { return v != judge.OnlyBase && v != judge.OnlyNew }

var csvColumns = []string{
	"machine", "lock", "workload", "workers", "metric", "unit", "better", "run", "figure", "figure_lo", "figure_hi", "figure_n",
	"baseline", "ratio", "ratio_lo", "ratio_hi", "ratio_n", "confidence", "p", "reading", "verdict", "change", "off", "note",
}

// writeTables writes a line for each column of each row of ts, and for each other figure of a
// lock.
func writeTables(out io.Writer, ts []judge.Table) error {
	var lines [][]any
	for _, t := range ts {
		for _, r := range t.Rows {
			for i := range t.Columns {
				lines = append(lines, csvLines(t, r, i)...)
			}
		}
	}
	return result.WriteCSV(out, csvColumns, lines)
}

func csvLines(t judge.Table, r judge.Entry, column int) [][]any {
	c, of := t.Columns[column], r.Case
	if of == nil { // a lock
		of = &judge.Case{Workers: c.Workers, Runs: make([]judge.CaseRun, len(t.Columns))}
		if of.Runs[column].Note = r.Rule; r.Lock == t.Baseline {
			of.Runs[column].Figure = c.Rate
		}
	}
	run, change := of.Runs[column], judge.Verdict("")
	if run.Change != nil {
		change = run.Change.Verdict
	}
	line := []any{t.Machine, r.Lock, t.Workload, of.Workers, c.Metric, c.Unit, c.Better, c.Run}
	lines := [][]any{slices.Concat(line, csvFigure(run.Figure), []any{t.Baseline}, csvRatio(r.Ratios[column], c.Level),
		[]any{of.Verdict, change, run.Off, run.Note})}
	for _, d := range detailsOf(t) {
		if f := d.of(r); f != nil && column == t.Detail {
			more := make([]any, len(csvColumns))
			copy(more, slices.Concat(line[:4], []any{d.head, d.unit, "", ""}, csvFigure(f)))
			lines = append(lines, more)
		}
	}
	return lines
}

func csvFigure(f *judge.Figure) []any {
	if f == nil {
		return make([]any, 4)
	}
	return []any{f.Value, f.Lo, f.Hi, f.N}
}

func csvRatio(r *judge.Ratio, level float64) []any {
	if r == nil {
		return make([]any, 7)
	}
	return []any{r.Median, r.Lo, r.Hi, r.N, level, r.P, r.Reading}
}

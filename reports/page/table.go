package page

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// A tableView is a [judge.Table] in words.
type tableView struct {
	remote    bool
	workload  string
	use       string // the recommended lock
	Title     string
	Head      []chart.Heading
	Rows      [][]string
	Notes     []string // meaning of the marks in the rows
	Decides   int      // the column of the most workers, which sorts the rows
	Sentences []string // the most important differences
	Ranked    *figure  // the chart of the same locks; may be nil
}

// Chosen reports whether row is of the recommended lock.
func (v tableView) Chosen(row []string) bool { return row[0] == v.use }

// notAvailable replaces a missing figure; a note contains the reason.
const notAvailable = "n/a"

// viewTable returns t in words; use is the recommended lock.
func viewTable(t judge.Table, use string) tableView {
	v := tableView{remote: t.Distributed, workload: t.Workload, use: use, Title: tableTitle(t), Decides: t.Detail + 1}
	heads := []string{"lock"}
	for _, c := range t.Columns {
		heads = append(heads, fmt.Sprint("workers ", c.Workers))
	}
	details := detailsOf(t)
	v.Head = chart.Titles(append(heads, result.Each(details, func(d detail) string { return d.head })...)...)
	var missing []string // reasons
	for _, r := range t.Rows {
		cells := []string{r.Lock + map[bool]string{true: " !"}[r.Violated > 0]}
		for i := range t.Columns {
			cells = append(cells, ratioCell(t, r, i))
		}
		for _, d := range details {
			cell := ""
			if r.Violated == 0 && (r.Ratios[t.Detail] != nil || r.Lock == t.Baseline) && !(d.shared && t.Columns[t.Detail].Workers == 1) {
				f := d.of(r)
				if cell = figureText(f, chart.FormatUnit(d.unit)); f == nil {
					missing = append(missing, d.reason)
				}
			}
			cells = append(cells, cell)
		}
		v.Rows = append(v.Rows, cells)
	}
	v.Notes, v.Sentences = tableNotes(t, missing), tableSentences(t, use)
	return v
}

// A detail is a column about the waits, the fairness or the cost of an acquisition.
type detail struct {
	head   string
	of     func(r judge.Entry) *judge.Figure
	unit   string
	shared bool   // one worker has no such figure
	reason string // if a figure is missing
}

func detailsOf(t judge.Table) []detail {
	waits := fmt.Sprintf("p99 needs %d timed waits", result.Needed(0.99))
	cost := detail{"CPU", func(r judge.Entry) *judge.Figure { return r.CPU }, "ns/op", false, "processor time was not recorded"}
	if t.Distributed {
		cost = detail{"requests", func(r judge.Entry) *judge.Figure { return r.Requests }, "requests/op", false, "requests were not counted"}
	}
	return []detail{
		{"waiting", func(r judge.Entry) *judge.Figure { return r.Moment }, "ns/op", false, waits},
		{"longest", func(r judge.Entry) *judge.Figure { return r.Longest }, "ns/op", false, "the longest wait was not recorded"},
		{"Jain", func(r judge.Entry) *judge.Figure { return r.Jain }, "jain-%", true, "Jain needs more acquisitions than workers in each part of the window"},
		cost,
		{"p99 wait", func(r judge.Entry) *judge.Figure { return r.P99 }, "ns/op", false, waits},
	}
}

func tableTitle(t judge.Table) string {
	where, what := "Inside a process", t.Columns[max(0, t.Detail)].Metric
	if t.Distributed {
		where = "Distributed"
	}
	switch {
	case t.Machine != "":
		where = t.Machine + ", " + strings.ToLower(where[:1]) + where[1:]
	case t.Detail >= 0 && what == result.Handovers.Name:
		what = "handovers per second"
		if t.Columns[0].Metric != result.Handovers.Name {
			what += " (1 worker: acquisitions)"
		}
	}
	return fmt.Sprintf("%s, %s: %s as a ratio to %s", where, t.Workload, what, t.Baseline)
}

func ratioCell(t judge.Table, r judge.Entry, column int) string {
	rate, ratio := t.Columns[column].Rate, r.Ratios[column]
	switch {
	case r.Lock == t.Baseline && rate != nil:
		return figureText(rate, chart.FormatUnit(t.Columns[column].Unit))
	case ratio == nil:
		return ""
	}
	return ratioText(ratio)
}

var marks = map[judge.Significance]string{judge.Faster: "*", judge.Slower: "*", judge.Equivalent: "=", judge.Noisy: "?"}

func ratioText(ratio *judge.Ratio) string {
	if ratio.Reading == judge.TooFew {
		return fmt.Sprintf(chart.Decimals(ratio.Median, 0, math.Inf(1))+"x n=%d", ratio.Median, ratio.N)
	}
	f := chart.Decimals(ratio.Median, ratio.Lo, ratio.Hi)
	return fmt.Sprintf(f+"x "+f+"–"+f+marks[ratio.Reading], ratio.Median, ratio.Lo, ratio.Hi)
}

func tableNotes(t judge.Table, missing []string) (notes []string) {
	windows := 0
	for _, r := range t.Rows {
		if r.Longest != nil {
			windows = max(windows, int(r.Longest.N))
		}
	}
	notes = append(notes, fmt.Sprintf("* significant, = equivalent. All intervals of the table hold together with 95 %% confidence; n = %s%s. Waits and fairness (%s) and cost of an acquisition: %s.",
		roundsText([]judge.Table{t}), blocksText(t), numfmt.Plural(windows, "window"), numfmt.Plural(t.Columns[t.Detail].Workers, "worker")))
	if missing != nil {
		slices.Sort(missing)
		notes = append(notes, notAvailable+": "+strings.Join(slices.Compact(missing), "; ")+".")
	}
	if slices.ContainsFunc(t.Rows, func(r judge.Entry) bool { return r.Moment != nil && r.Moment.Rough }) {
		notes = append(notes, "~ depends on few waits: the ten longest are more than 1 % of all waiting.")
	}
	notes = append(notes, noisyNote([]judge.Table{t})...)
	if text := modeNote(t); text != "" {
		notes = append(notes, text)
	}
	for _, r := range t.Rows {
		if r.Violated > 0 {
			notes = append(notes, fmt.Sprintf("! %s violated %s in %d of %s, so it has no speed.", r.Lock, r.Rule, r.Violated, numfmt.Plural(r.Results, "result")))
		}
	}
	return notes
}

// noisyNote explains the mark of noisy ratios in ts, if there are any.
func noisyNote(ts []judge.Table) []string {
	for _, t := range ts {
		for _, r := range t.Rows {
			if slices.ContainsFunc(r.Ratios, func(x *judge.Ratio) bool { return x != nil && x.Reading == judge.Noisy }) {
				return []string{"? noisy: neither significant nor equivalent."}
			}
		}
	}
	return nil
}

func roundsText(ts []judge.Table) string {
	var rounds []int
	for _, t := range ts {
		for _, r := range t.Rows {
			for _, x := range r.Ratios {
				if x != nil {
					rounds = append(rounds, x.N)
				}
			}
		}
	}
	return numfmt.Range(rounds, "round")
}

// blocksText returns the number of blocks of each lock, or "" if the locks took no turns.
func blocksText(t judge.Table) string {
	var blocks []int
	for _, r := range t.Rows {
		if x := r.Ratios[t.Detail]; x != nil && x.Blocks > 0 {
			blocks = append(blocks, x.Blocks)
		}
	}
	if blocks == nil {
		return ""
	}
	text := " (each lock in " + numfmt.Range(blocks, "block")
	if slices.Min(blocks) < slices.Max(blocks) {
		text += "; far slower ones in fewer"
	}
	return text + ")"
}

const mostModes = 4

// modeNote names the locks of t with two groups of rates, or returns "".
func modeNote(t judge.Table) string {
	var texts []string
	for _, r := range t.Rows {
		for i, ms := range r.Modes {
			if len(ms) == 2 && strings.HasSuffix(t.Columns[i].Unit, "/s") {
				rate := func(m judge.Mode) string { return numfmt.Plain(numfmt.SI(m.Rate)) + "/s" }
				texts = append(texts, fmt.Sprintf("%s with %s %s in %s and %s in %d", r.Lock, numfmt.Plural(t.Columns[i].Workers, "worker"),
					rate(ms[0]), numfmt.Plural(ms[0].Rounds, "round"), rate(ms[1]), ms[1].Rounds)+keptText(ms))
			}
		}
	}
	if len(texts) == 0 {
		return ""
	}
	more := ""
	if n := len(texts) - mostModes; n > 0 {
		texts, more = texts[:mostModes], fmt.Sprintf("; and %d more", n)
	}
	return "Two rates each: " + strings.Join(texts, "; ") + more + "."
}

func keptText(ms []judge.Mode) string {
	const differ = 0.1
	if math.Abs(ms[1].Kept-ms[0].Kept) < differ {
		return ""
	}
	return fmt.Sprintf(" (an owner takes the lock again in %s and %s of acquisitions)", numfmt.Percent(100*ms[0].Kept), numfmt.Percent(100*ms[1].Kept))
}

// tableSentences returns at most three sentences about the significant differences of t in
// its detailed column: of the lock to use, else of the first, of the last, and their number.
func tableSentences(t judge.Table, use string) (out []string) {
	with := " with " + numfmt.Plural(t.Columns[t.Detail].Workers, "worker")
	var significant []judge.Entry
	compared := 0
	for _, r := range t.Rows {
		if ratio := r.Ratios[t.Detail]; ratio != nil && r.Lock != t.Baseline && ratio.Reading != judge.TooFew {
			compared++
			if ratio.Reading.Significant() {
				significant = append(significant, r)
			}
		}
	}
	switch {
	case compared == 0:
		return nil
	case len(significant) == 0:
		return []string{fmt.Sprintf("No lock differs significantly from %s%s.", t.Baseline, with)}
	}
	first, last := significant[0], significant[len(significant)-1]
	if i := slices.IndexFunc(significant, func(r judge.Entry) bool { return r.Lock == use }); i >= 0 {
		first = significant[i]
	}
	form := "The " + t.Columns[t.Detail].Metric + " of %s is %s that of %s%s."
	if strings.HasSuffix(t.Columns[t.Detail].Unit, "/s") {
		form = "%s is %s as fast as %s%s."
	}
	for _, r := range []judge.Entry{first, last} {
		out = append(out, fmt.Sprintf(form, r.Lock, chart.GainText(r.Ratios[t.Detail]), t.Baseline, with))
	}
	out = slices.Compact(out)
	if compared > 1 {
		out = append(out, fmt.Sprintf("%d of %s with %s %s significant%s.", len(significant), numfmt.Plural(compared, "difference"), t.Baseline, numfmt.Choose(len(significant), "is", "are"), with))
	}
	return out
}

func recommended(t judge.Table, ds []judge.Decision) string {
	for _, d := range ds {
		if s := d.Situation; s.Workload() == t.Workload && s.Distributed() == t.Distributed && s.Workers == t.Columns[t.Detail].Workers {
			return d.Use
		}
	}
	return ""
}

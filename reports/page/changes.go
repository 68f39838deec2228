package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// ChangesFormats lists the formats of [Changes.Write], the default first.
var ChangesFormats = []string{"text", "markdown", "html", "csv", "json"}

// Changes is a comparison of runs in words, and as data.
type Changes struct {
	doc    *historyDocument
	tables []judge.Table
	data   any
}

// CompareChanges returns the changes of c.
func CompareChanges(c *judge.Comparison) *Changes {
	ts := c.Tables()
	return &Changes{composeComparison(c, ts), ts, struct {
		Outcome judge.Outcome `json:"outcome"`
		*judge.Comparison
		Machines []judge.Site  `json:"machines"`
		Tables   []judge.Table `json:"tables"`
	}{c.Outcome(), c, c.Sites(), ts}}
}

// CompareLocks returns the tables of a report of run, which compare its locks with its
// baseline, or such tables by metrics. The error wraps harness.ErrUsage.
func CompareLocks(run *result.Run, metrics []*result.Metric) (*Changes, error) {
	run = chart.Sanitize(run)
	ts, err := judge.LockTables(run, metrics)
	if err != nil {
		return nil, err
	}
	sites := []judge.Site{{Name: cmp.Or(run.Manifest.Machine.Host, "unknown host"), Runs: []judge.Visit{{Name: "run", Manifest: run.Manifest}}}}
	doc := &historyDocument{Title: "How do the locks of the run differ?", Sites: historySites(sites), Warnings: run.DamageSummary(),
		Lead:    strings.TrimSpace(fmt.Sprintf("%s Each lock is compared with %s.", partial(run), run.Baseline)),
		Remarks: []string{"Ratio: the median of those within a round (t-test of their logarithms)."}}
	ds := judge.Decisions(run)
	for _, t := range ts {
		doc.addTable(viewTable(t, recommended(t, ds)))
	}
	return &Changes{doc, ts, map[string]any{"machines": sites, "warnings": append([]string{}, doc.Warnings...), "tables": ts}}, nil
}

// HistoryChanges returns the changes of h; all puts every run of every case into the text.
func HistoryChanges(h *judge.History, all bool) *Changes {
	x := &Changes{tables: h.Tables(), doc: outlineHistory(h)}
	for _, t := range x.tables {
		if len(t.Columns) > 1 {
			v := viewRuns(t, 0, func(x *judge.Case) bool { return all || x.Notable })
			v.Title += ", every run"
			x.doc.addTable(v)
		}
	}
	x.data = struct {
		Outcome judge.Outcome `json:"outcome"`
		*judge.History
		Tables []judge.Table `json:"tables"`
	}{h.Outcome(), h, x.tables}
	return x
}

// Asides returns the gaps and warnings, which CSV has no place for.
func (x *Changes) Asides() []string {
	return slices.Concat(
		result.Each(x.doc.Gaps, func(gap string) string { return "not measured: " + gap }),
		result.Each(x.doc.Warnings, func(text string) string { return "warning: " + text }))
}

// Write writes x in one of [ChangesFormats]. Text is at most width columns wide, at least 60;
// CSV has a line for each run of a case, safe for a spreadsheet.
func (x *Changes) Write(w io.Writer, format string, width int) error {
	switch format {
	case "csv":
		return writeTables(w, x.tables)
	case "json":
		return encodeJSON(w, x.data)
	case "html":
		x.doc.glossary = glossary{result.Metrics, terms, linesOf("LOCK", 1)}
		return x.doc.document().HTML(w)
	case "markdown":
		return x.doc.document().Markdown(w, "", nil)
	case "text":
		return x.doc.document().Text(w, width)
	}
	return fmt.Errorf("reports: format %q is unknown", format)
}

// History returns a report about h, with unchanged series folded.
func History(h *judge.History) *Document {
	doc := outlineHistory(h)
	var first, others []*judge.HistorySeries
	for i := range h.Series {
		if s := &h.Series[i]; s.Notable() {
			first = append(first, s)
		} else {
			others = append(others, s)
		}
	}
	doc.draw(h, first, "changes", "Which cases changed?", false)
	doc.draw(h, others, "unchanged", "How steady are the others?", true)
	doc.Terms = terms
	doc.Metrics = chart.Distinct(h.Series, func(s judge.HistorySeries) *result.Metric { return s.Metric })
	if len(h.Series) > 0 {
		s := &h.Series[0]
		doc.Lines = linesOf(s.Lock.Name, s.Workload.Workers)
	}
	return doc.document()
}

func named(err error, what string) error {
	if err != nil {
		return fmt.Errorf("reports: %s: %w", what, err)
	}
	return nil
}

// mostFrames limits the frames in one picture of a history.
const mostFrames = 24

// A historyDocument is the data for the template of a history.
type historyDocument struct {
	Title, Lead string
	Worse       bool
	Findings    []string
	Gaps        []string
	Tables      []tableView
	Sites       []figure // the runs of each machine
	Sections    []section
	Remarks     []string
	Warnings    []string
	glossary
}

func (doc *historyDocument) document() *Document {
	return &Document{form: "history", data: doc}
}

func composeComparison(c *judge.Comparison, ts []judge.Table) *historyDocument {
	doc := &historyDocument{Title: "What changed between the two runs?", Lead: comparisonHeadline(c), Worse: c.Outcome() == judge.Worse,
		Findings: comparisonFindings(c), Gaps: c.Gaps, Sites: historySites(c.Sites()), Remarks: comparisonRemarks(c), Warnings: c.Warnings}
	for _, t := range ts {
		doc.addTable(viewRuns(t, 0, func(x *judge.Case) bool { return planned(x.Verdict) }))
	}
	return doc
}

func outlineHistory(h *judge.History) *historyDocument {
	doc := &historyDocument{Title: "What changed over the runs?", Lead: historyHeadline(h), Worse: h.Outcome() == judge.Worse,
		Sites: historySites(h.Sites), Remarks: historyRemarks(h), Warnings: h.Warnings}
	for _, t := range h.Tables() {
		doc.addTable(viewRuns(t, len(t.Columns)-1, func(*judge.Case) bool { return true }))
	}
	for i := range h.Series {
		doc.Findings = append(doc.Findings, seriesFindings(h, &h.Series[i])...)
	}
	return doc
}

func (doc *historyDocument) addTable(v tableView) {
	if len(v.Rows) > 0 {
		doc.Tables = append(doc.Tables, v)
	}
}

func historySites(sites []judge.Site) (out []figure) {
	for i, s := range sites {
		t := chart.Table{Head: chart.Titles("run", "date, UTC", "commit", "differs from the run before in")}
		for _, v := range s.Runs {
			differs := cmp.Or(numfmt.List(v.Differs, len(v.Differs)), numfmt.Unknown)
			t.Rows = append(t.Rows, []string{v.Name, v.Date(), v.Commit(), differs})
		}
		out = append(out, tableFigure(fmt.Sprint("site-", i), s.Name, s.Runs[0].Manifest.Machine.String(), t))
	}
	return out
}

// draw draws ss and adds the sections.
func (doc *historyDocument) draw(h *judge.History, ss []*judge.HistorySeries, name, title string, folded bool) {
	parts := slices.Collect(slices.Chunk(ss, mostFrames))
	for i, part := range parts {
		s := section{ID: name, Title: title, Slug: name, Folded: folded}
		if len(parts) > 1 {
			s.ID, s.Slug = fmt.Sprintf("%s-%d", name, i+1), fmt.Sprintf("%s-%d", name, i+1)
			s.Title += fmt.Sprintf(" (%d of %d)", i+1, len(parts))
		}
		s.Figures = []figure{newFigure(chart.Named{Name: s.Slug, Title: caseList(part), Doc: chart.ChangesDoc, Pic: chart.DrawChanges(h, part, chart.ChangesAnswer(h, part))}, s.ID+"-chart")}
		doc.Sections = append(doc.Sections, s)
	}
}

func caseList(ss []*judge.HistorySeries) string {
	names := chart.Distinct(ss, (*judge.HistorySeries).Title)
	return "How did " + numfmt.List(names, len(names)) + " go from run to run?"
}

package page

import (
	"encoding/json"
	"fmt"
	"io"

	"locklab/harness/judge"
)

// ChangesFormats lists the formats of [Changes.Write], the default first.
var ChangesFormats = []string{"text", "markdown", "csv", "json"}

// Changes is a comparison of runs in words, and as data.
type Changes struct {
	doc    *historyDocument
	tables []judge.Table
	data   any
}

// CompareChanges returns the changes of c, or the differences between the locks of a run.
func CompareChanges(c *judge.Comparison) *Changes {
	x := &Changes{tables: c.Tables()}
	outcome := c.Outcome()
	if c.To != "" {
		outcome = "" // a difference between locks is no regression
	}
	x.doc = composeComparison(c, x.tables)
	x.data = struct {
		Outcome judge.GateOutcome `json:"outcome,omitempty"`
		*judge.Comparison
		Machines []judge.Site  `json:"machines"`
		Tables   []judge.Table `json:"tables"`
	}{outcome, c, c.Sites(), x.tables}
	return x
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
		Outcome judge.GateOutcome `json:"outcome"`
		*judge.History
		Tables []judge.Table `json:"tables"`
	}{h.Outcome(), h, x.tables}
	return x
}

// Asides returns the gaps and warnings, which CSV has no place for.
func (x *Changes) Asides() (out []string) {
	for _, g := range x.doc.Gaps {
		out = append(out, "not measured: "+g)
	}
	for _, w := range x.doc.Warnings {
		out = append(out, "warning: "+w)
	}
	return out
}

// Write writes x in one of [ChangesFormats]. Text is at most width columns wide, at least 60;
// CSV has a line for each run of a case, safe for a spreadsheet.
func (x *Changes) Write(w io.Writer, format string, width int) error {
	switch format {
	case "csv":
		return named(writeTables(w, x.tables), "CSV")
	case "json":
		enc := json.NewEncoder(w)
		enc.SetIndent("", "  ")
		return named(enc.Encode(x.data), "JSON")
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
	first, others := notable(h)
	doc.draw(h, first, "changes", "Which cases changed?", false)
	doc.draw(h, others, "unchanged", "How steady are the others?", true)
	doc.define(h)
	return doc.document()
}

func named(err error, what string) error {
	if err != nil {
		return fmt.Errorf("reports: %s: %w", what, err)
	}
	return nil
}

package reports

import (
	"fmt"
	"io"
	"strings"

	"locklab/harness/resultfile"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// WriteMarkdown writes what WriteHTML writes as Markdown, as GitHub reads it
// (GFM). The charts are PNG files of 144 dots per inch: picture takes each of
// them before the text is written, under the path by which the text refers to
// it, which is folder/NAME.png.
func WriteMarkdown(w io.Writer, run *resultfile.Run, folder string, picture func(path string, png []byte) error) error {
	doc, err := compose(run)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool)}
	m.document(doc)
	return m.writeTo(w)
}

func (m *markdown) document(doc *document) {
	m.heading(1, doc.Title)
	m.text(doc.Origin)
	m.verdicts(doc, 2)
	m.quality(doc.Quality, 2)
	for _, s := range doc.Local {
		m.section(s)
	}
	if doc.Hardware != nil {
		m.heading(2, "Hardware")
	}
	for _, s := range doc.Hardware {
		m.study(s)
	}
	for _, s := range doc.Served {
		m.section(s)
	}
	m.safety(doc.Safety)
	if doc.Measured {
		m.breaches(doc)
		m.audit(doc)
	}
	m.metrics(doc.glossary)
	m.heading(2, "Environment")
	m.facts(doc.Facts)
	if doc.Modules != nil {
		m.open(fmt.Sprintf("modules: %d", len(doc.Modules)))
		m.facts(doc.Modules)
		m.close()
	}
	if doc.Command != "" {
		m.text("To measure this again:")
		m.code(doc.Command)
	}
}

// verdicts writes the table of verdicts under a heading of the given level.
func (m *markdown) verdicts(doc *document, level int) {
	if !doc.Measured {
		return
	}
	m.heading(level, "Verdict")
	if len(doc.Verdicts) == 0 {
		m.text("This run has no result that a verdict could rest on.")
		return
	}
	if text := plainLead(doc.Lead); text != "" {
		m.text(text)
		m.text(doc.Stable)
	}
	m.verdictTable(doc.Columns, doc.Verdicts)
	var key []string
	for _, c := range doc.Columns {
		key = append(key, c.Name+": "+c.Meaning)
	}
	m.items(key)
	m.open("How it is decided")
	m.text(doc.Rule)
	m.close()
	m.comparisons("Every comparison behind this table", doc.Verdicts)
	if len(doc.Others) > 0 {
		m.open("The other workloads: " + numfmt.Plural(len(doc.Others), "situation"))
		m.verdictTable(doc.Columns, doc.Others)
		m.close()
		m.comparisons("Every comparison on the other workloads", doc.Others)
	}
	m.exclusions(doc.Exclusions)
}

// verdictTable writes vs, a row each.
func (m *markdown) verdictTable(columns []column, vs []verdict.Verdict) {
	var head []string
	for _, c := range columns {
		head = append(head, c.Name)
	}
	var rows [][]string
	for _, v := range vs {
		use, why := "**"+inlineText(v.Use)+"**", []string{"**" + inlineText(v.Grade) + "** " + inlineText(v.Why)}
		if v.Use == "" {
			use, why[0] = unknown, "**"+inlineText(v.Grade)+"** "+inlineText(v.Reason())
		}
		for _, n := range v.Notes {
			why = append(why, "**Note:** "+inlineText(n))
		}
		if v.Use != "" && v.Class != "" {
			use += "<br>" + inlineText(v.Class)
		}
		if v.Instead != nil {
			use += "<br>or, where " + inlineText(v.Instead.Where) + ", **" + inlineText(v.Instead.Lock) + "** (" + inlineText(v.Instead.Rate) + ")"
		}
		row := []string{inlineText(v.Situation) + "<br>" + inlineText(v.Setting), use}
		for _, text := range []string{alike(v), v.Rate, v.P99, v.Jain, v.Cost} {
			if text == "" {
				text = unknown
			}
			row = append(row, inlineText(text))
		}
		rows = append(rows, append(row, strings.Join(why, "<br>")))
	}
	m.rows(head, rows)
}

// comparisons writes what each verdict of vs rests on.
func (m *markdown) comparisons(summary string, vs []verdict.Verdict) {
	m.open(summary)
	for _, v := range vs {
		if len(v.Rows) == 0 {
			continue
		}
		text := v.Situation + " (" + v.Setting + "): rate over that of the leader in the same round, median and interval"
		if v.Level != "" {
			text += " at " + v.Level
		}
		m.text(text + ".")
		var rows [][]string
		for _, r := range v.Rows {
			rows = append(rows, []string{r.Lock, r.Rate, r.Ratio, r.P99, r.Jain, r.Cost, r.Reading})
		}
		m.table([]string{"lock", "rate", "over the leader", "wait p99", "fairness", "cost", "reads as"}, rows)
	}
	m.close()
}

func (m *markdown) exclusions(es []verdict.Exclusion) {
	if len(es) == 0 {
		return
	}
	m.open(fmt.Sprintf("Not considered: %d", len(es)))
	var rows [][]string
	for _, e := range es {
		rows = append(rows, []string{e.Lock, e.Reason})
	}
	m.table([]string{"lock", "why"}, rows)
	m.close()
}

func (m *markdown) quality(q quality, level int) {
	m.heading(level, strings.TrimSuffix(q.Headline(), "."))
	if q.Partial != "" {
		m.text(q.Partial)
	}
	var items []string
	for _, w := range q.Warnings {
		items = append(items, strings.TrimSpace(fmt.Sprintf("%s In %s. %s", w.Text, w.Where, w.Remedy)))
	}
	for _, s := range q.Skipped {
		items = append(items, s.Lock+" was not measured: "+s.Reason)
	}
	m.items(append(items, q.Damage...))
	if len(q.Checks) == 0 {
		return
	}
	m.open(fmt.Sprintf("What was looked at: %d checks", len(q.Checks)))
	var rows [][]string
	for _, c := range q.Checks {
		sign, found := "✓", c.Found
		switch {
		case c.Bad:
			sign = "!"
		case found == "":
			sign, found = "?", "not known"
		}
		rows = append(rows, []string{sign, c.Name, found})
	}
	m.table([]string{"", "check", "found"}, rows)
	m.close()
}

func (m *markdown) section(s section) {
	if s.Folded {
		m.open(s.Title)
	}
	m.heading(2, s.Title)
	for _, f := range s.Figures {
		name := f.Name
		if s.Folded {
			name += "-" + s.Slug
		}
		m.figure(f, name)
	}
	if s.Note != "" {
		m.text(s.Note)
	}
	if s.Folded {
		m.close()
	}
}

func (m *markdown) study(s study) {
	m.heading(3, s.Title)
	m.text(s.Answer)
	if s.Interrupted != "" {
		m.text(s.Interrupted)
	}
	var items []string
	for _, w := range s.Warnings {
		items = append(items, strings.TrimSpace(w.Text+" "+w.Remedy))
	}
	m.items(items)
	for _, p := range s.Plates {
		if p.SVG != "" || p.Blank != "" {
			m.heading(4, p.Caption)
		}
		m.image(p.Caption, s.Answer, p.name, p.pic)
		if p.SVG != "" {
			m.text(strings.TrimSpace(p.How + " " + plain(p.Data)))
		} else if p.Blank != "" {
			m.text(p.Blank)
		}
		var rows [][]string
		for _, r := range p.Rows {
			row := []string{r.Name}
			for _, c := range r.Cells {
				row = append(row, c.Text)
			}
			rows = append(rows, row)
		}
		m.numbers("numbers: "+p.Caption, p.Head, rows, p.Omitted)
	}
	if s.Listing != "" {
		m.open("listing")
		m.code(s.Listing)
		m.close()
	}
	if s.Method != "" {
		m.text("Method: " + s.Method)
	}
	if s.Source != "" {
		m.text("Source: " + s.Source)
	}
	if s.Took != "" {
		m.text("Took " + s.Took + " here.")
	}
	m.items(s.Notes)
}

func (m *markdown) breaches(doc *document) {
	m.heading(2, "Violations")
	if len(doc.Broken) == 0 {
		m.text("None. Every measured window was also a test of its lock.")
		return
	}
	m.text("A result with a violation is never read as a speed. Its lock is in no chart and no verdict.")
	var rows [][]string
	for _, b := range doc.Broken {
		rows = append(rows, []string{b.Lock, b.Workload, fmt.Sprint(b.Round), b.Rule, fmt.Sprint(b.Count), b.Detail})
	}
	m.table([]string{"lock", "workload", "round", "rule", "times", "seen"}, rows)
	for _, b := range doc.Traces() {
		m.open(b.Head())
		m.code(b.Text())
		m.close()
	}
}

// audit writes what was checked, lock by lock.
func (m *markdown) audit(doc *document) {
	if len(doc.Audit) == 0 {
		return
	}
	m.open(doc.Audited())
	m.text(doc.AuditText())
	var rows [][]string
	for _, c := range doc.Audit {
		rows = append(rows, c.Row())
	}
	m.table(doc.AuditHead(), rows)
	m.close()
}

// metrics writes what each metric is.
func (m *markdown) metrics(g glossary) {
	if len(g.Metrics) == 0 {
		return
	}
	m.heading(2, g.MetricsTitle())
	m.text(g.MetricsText())
	m.code(g.Lines)
	m.open("definitions: " + numfmt.Plural(len(g.Metrics), "metric"))
	var rows [][]string
	for _, x := range g.Metrics {
		rows = append(rows, []string{x.Name, x.Unit, x.Doc, x.Better, x.Paper})
	}
	m.table(g.MetricsHead(), rows)
	m.close()
}

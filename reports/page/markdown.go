package page

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"locklab/harness/resultfile"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// WriteMarkdown writes the content of [WriteHTML] as GitHub Flavored Markdown. The charts
// are PNG files of 144 dots per inch. Before it writes the text, it passes each to picture
// with its path, folder/NAME.png.
func WriteMarkdown(w io.Writer, run *resultfile.Run, folder string, picture func(path string, png []byte) error) error {
	doc, err := compose(run)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool), glossary: doc.glossary}
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
	for _, s := range doc.Simulated {
		m.section(s)
	}
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
		m.text(doc.Again())
		m.code(doc.Command)
	}
}

func (m *markdown) verdicts(doc *document, level int) {
	if !doc.Measured {
		return
	}
	m.heading(level, "Verdict")
	m.text(doc.Quality.Headline())
	m.text(cmp.Or(plainText(doc.Headline), noDecision))
	if doc.Expected != "" {
		m.text(doc.Expected)
	}
	if len(doc.Answers) == 0 {
		return
	}
	for _, t := range doc.Tables {
		m.text(t.Title + ".")
		m.table(chart.Texts(t.Head), t.Rows)
		m.items(slices.Concat(t.Notes, t.Sentences))
	}
	m.answers(doc)
	for _, f := range doc.Ranked {
		m.figure(f, f.Name)
	}
	m.open("How to read it, and the rule")
	var key []string
	for _, t := range doc.AnswerTerms() {
		key = append(key, t.Name+": "+t.Doc)
	}
	m.items(key)
	m.text(doc.Rule)
	m.close()
	m.exclusions(doc.Exclusions)
}

func (m *markdown) answers(doc *document) {
	var rows [][]string
	for _, a := range doc.Answers {
		use := numfmt.Unknown
		if a.Use != "" {
			use = "**" + inlineText(a.Use) + "**"
		}
		var marks []string
		for _, x := range a.Tolerates {
			marks = append(marks, inlineText(x.Mark+" "+x.Text))
		}
		rows = append(rows, []string{"**" + inlineText(a.Requirement) + "**<br>" + inlineText(a.Setting+": "+a.Meaning), use, inlineText(cmp.Or(a.Rate, numfmt.Unknown)), inlineText(a.Why), strings.Join(marks, "<br>")})
	}
	m.rows(chart.Texts(doc.AnswerHead), rows)
	m.meanings(doc.AnswerHead)
}

func (m *markdown) exclusions(es []excluded) {
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
	m.heading(level, "Warnings")
	if q.Partial != "" {
		m.text(q.Partial)
	}
	var items []string
	for _, w := range q.Top() {
		items = append(items, w.Said())
	}
	for _, s := range q.Skipped {
		items = append(items, s.Locks+": "+s.Reason)
	}
	m.items(append(items, q.Damage...))
	if len(q.Rest()) > 0 {
		m.open(q.RestHead())
		items = nil
		for _, w := range q.Rest() {
			items = append(items, w.Said())
		}
		m.items(items)
		m.close()
	}
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
	if s.Intro != "" {
		m.text(s.Intro)
	}
	for _, f := range s.Figures {
		name := f.Name + f.Slug
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
			m.text(strings.TrimSpace(p.How + " " + chart.Plain(p.Data)))
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

// audit writes the checks of each lock.
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

// metrics writes the definition of each metric.
func (m *markdown) metrics(g glossary) {
	if len(g.Metrics) > 0 {
		m.definitions(g)
	}
	if len(g.Terms) == 0 {
		return
	}
	m.heading(2, g.TermsTitle())
	m.text(g.TermsText())
	m.open("definitions: " + numfmt.Plural(len(g.Terms), "term"))
	var rows [][]string
	for _, t := range g.Terms {
		rows = append(rows, []string{target(t.Link(), t.Name), inlineText(t.Doc)})
	}
	m.rows([]string{"term", "what it is"}, rows)
	m.close()
}

func (m *markdown) definitions(g glossary) {
	m.heading(2, g.MetricsTitle())
	m.text(g.MetricsText())
	m.code(g.Lines)
	m.open("definitions: " + numfmt.Plural(len(g.Metrics), "metric"))
	var rows [][]string
	for _, x := range g.Metrics {
		rows = append(rows, []string{target(x.Link(), x.Name), inlineText(x.Unit), inlineText(x.Doc), inlineText(string(x.Better)), inlineText(x.Paper)})
	}
	m.rows(g.MetricsHead(), rows)
	m.close()
}

// target returns a text with an anchor for links.
func target(link, text string) string {
	return fmt.Sprintf(`<a id="%s"></a>%s`, link, inlineText(text))
}

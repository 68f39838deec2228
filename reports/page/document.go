package page

import (
	"fmt"
	"html/template"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// document is the data of the template of a run.
// It has one field for each part of a page.
type document struct {
	Name       string // of the machine, in a report of several
	Title      string
	Origin     string
	Details    string // the address of the full page; "" on that page
	Headline   []fragment
	Decisions  []judge.Decision
	Tables     []tableView
	Answers    []answerRow
	Rule       string
	Exclusions []excluded
	Quality    quality
	Sections   []section
	LeftOut    string // the charts without a picture, with the reasons
	Safety     *safetySection
	Measured   bool // there are results, or the run is empty
	Broken     []breach
	Checked    string // the number of checks, with their meaning
	glossary          // of the metrics in charts and tables
	Facts      []fact
	Modules    []fact
	Command    string
}

// A section is the charts of one group, of a comparison between groups, or of an experiment.
type section struct {
	ID      string
	Title   string
	Slug    string // the workload, as part of a file's name
	Folded  bool   // the page shows it when asked
	Intro   string // under the title
	Note    string
	Listing string
	Figures []figure
}

type figure struct {
	Name                   string // of the chart
	ID, Title, Answer, Doc string
	Pic                    draw.Picture // of height 0 if there is nothing to draw
	Empty                  string       // why there is nothing to draw
	Data                   string       // the metrics or fields in the picture, with their file
	Head                   []chart.Heading
	Rows                   [][]string
	Method                 string // of an experiment: the address of the text about the columns; the section has the answer
	Omitted                string // rows omitted, with the reason or where they are
	Folded                 bool   // behind its question
	Shown                  bool   // its rows are unfolded: there is no picture
}

func newFigure(c chart.Named, id string) figure {
	pic := c.Pic
	f := figure{
		Name: c.Name, Pic: pic.Picture, Empty: pic.Empty, Folded: c.Folded,
		ID: id, Title: c.Title, Answer: pic.Answer, Doc: c.Doc,
		Data: pic.Data.Sentence(), Head: pic.Numbers.Head, Rows: pic.Numbers.Rows,
	}
	if n := len(f.Rows); n > chart.MostTableRows {
		f.Rows = f.Rows[:chart.MostTableRows]
		f.Omitted = fmt.Sprintf("These are the first %d of %d rows; results.jsonl has all of them.", chart.MostTableRows, n)
	}
	if slices.ContainsFunc(f.Rows, func(row []string) bool { return slices.Contains(row, numfmt.Unknown) }) {
		f.Omitted = strings.TrimSpace(f.Omitted + fmt.Sprintf(" %s means no figure: it was not recorded, or has too few samples (p99 needs %d, p99.9 %d).", numfmt.Unknown, result.Needed(0.99), result.Needed(0.999)))
	}
	return f
}

// leftOut lists the charts of fs that would show nothing, in a sentence.
func leftOut(fs []figure) string {
	var parts []string
	for _, f := range fs {
		if f.Empty != "" {
			parts = append(parts, fmt.Sprintf("%s (%s)", f.Name, f.Empty))
		}
	}
	if parts == nil {
		return ""
	}
	return "Charts left out, because they would show nothing: " + strings.Join(parts, ", ") + "."
}

// SVG draws f for a page.
func (f figure) SVG() (template.HTML, error) {
	svg, err := draw.Inline(f.Pic, f.ID, f.Title, f.Answer)
	if err != nil {
		err = fmt.Errorf("chart %s: %w", f.Name, err)
	}
	return template.HTML(svg), err // its texts are escaped
}

func tableFigure(name, title, answer string, t chart.Table) figure {
	return figure{Name: name, ID: name, Title: title, Answer: answer, Head: t.Head, Rows: t.Rows, Shown: true}
}

// A breach is a violation in the table of broken promises.
type breach struct {
	Lock, Workload, Rule, Detail string
	Round                        int
	Count                        uint64
	Trace                        string // of the first process of its lock that crashed
}

// Head returns the title of the trace of b.
func (b breach) Head() string {
	return fmt.Sprintf("How %s ended its process in round %d of %s", b.Lock, b.Round, b.Workload)
}

func (doc *document) conclude(run *result.Run) {
	doc.Decisions = judge.Decisions(run)
	doc.Answers = answers(doc.Decisions)
	for _, t := range judge.Tables(run, run.Baseline) {
		doc.Tables = append(doc.Tables, viewTable(t, recommended(t, doc.Decisions)))
	}
	doc.Quality = assess(run, doc.Decisions)
	doc.Headline = doc.Quality.headline(doc.Decisions)
}

// AnswerHead returns the columns of the answers.
func (doc *document) AnswerHead() []chart.Heading {
	head := chart.Titles("requirement", "lock", "rate", "why", "what it tolerates")
	if doc.Distributed() {
		return head
	}
	return head[:4]
}

// Distributed reports whether an answer has guarantees of a distributed lock.
func (doc *document) Distributed() bool {
	return slices.ContainsFunc(doc.Answers, func(a answerRow) bool { return a.Tolerates != nil })
}

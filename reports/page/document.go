package page

import (
	"locklab/reports/chart"
	"locklab/reports/draw"

	_ "embed"
	"fmt"
	"html/template"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// document is the data of the template.
// It has one field for each part of a page.
type document struct {
	Name       string // of the machine, in a report of several
	Title      string
	Origin     string
	Details    string // the address of the full page; "" on that page
	Tokens     []paint
	Headline   []fragment
	Decisions  []judge.Decision
	Tables     []tableView
	Answers    []answerRow
	AnswerHead []chart.Piece
	Ranked     []figure // one of local and one of distributed locks
	Rule       string
	Exclusions []excluded
	Quality    quality
	Local      []section
	Hardware   []study
	Served     []section // of distributed locks
	Safety     *safetySection
	Simulated  []section // predictions by models of machines
	Expected   string    // these in a sentence, separate from the verdict
	Measured   bool      // there are results, or the run is empty
	Broken     []breach
	Audit      []checked // of every lock
	glossary             // of the metrics in charts and tables
	Facts      []fact
	Modules    []fact
	Command    string
	Rounds     int
}

type paint struct {
	Name        string
	Light, Dark template.CSS
}

// A section is the charts of one group, or of the comparison between groups.
type section struct {
	ID      string
	Title   string
	Slug    string // the workload, as part of a file's name
	Folded  bool   // the group is one of many; the page shows it when asked
	Intro   string // under the title
	Note    string
	Figures []figure
}

type figure struct {
	Name                   string // of the chart
	ID, Title, Answer, Doc string
	Pic                    draw.Picture
	SVG                    template.HTML // drawn by this package; its texts are escaped
	Data                   string        // the metrics or fields in the picture, with their file
	Head                   []chart.Piece
	Rows                   [][]string
	Omitted                string // rows omitted, with the reason or where they are
	Folded                 bool   // behind its question
	Shown                  bool   // its rows are unfolded: there is no picture
}

// A safetySection is the results of the failure scenarios.
type safetySection struct {
	Title, Answer string
	Sources       []string // the runs of the scenarios
	Command       string   // that tests it
	Guarantees    []string // names of columns
	Columns       []string // names of scenarios
	Locks         []safetyLock
	Scenarios     []safetyScenario
	Figures       []figure
	Notes         []string

	Brief bool // without the figures of each scenario
	Tries int
}

// A safetyLock is a lock with its guarantees and its outcome in each scenario.
type safetyLock struct {
	Name, Class       string
	Tries             int
	Guarantees, Cells []safetyCell
}

// Marks returns the marks of l in the scenarios, with their figures.
func (l safetyLock) Marks() (out []string) {
	for _, c := range l.Cells {
		out = append(out, strings.TrimSpace(c.Mark+" "+c.Figure))
	}
	return out
}

// A safetyCell is a mark with its meaning. Kind selects its colour.
type safetyCell struct{ Mark, Kind, Figure, Text, Long string }

type safetyScenario struct {
	Name, Question, Fault, Source string
	Tests, Summary                string // the guarantees; the numbers of outcomes
	Rows                          []safetyFigures
}

// safetyFigures are the figures of a lock in a scenario.
type safetyFigures struct {
	Lock, Verdict                           string
	Cell                                    safetyCell
	Violations, Bound, Median, Most, Margin string
	Tries                                   int
	Reading                                 string
	Aims, Notes, Histories                  []string
	Striking                                bool // a terminal shows the texts too
}

// Seen describes the observations in one cell.
func (f safetyFigures) Seen() string {
	return strings.Join(slices.Concat([]string{f.Reading}, f.Aims, f.Notes), " · ")
}

func newFigure(c chart.Named, id string) (figure, error) {
	pic := c.Pic
	f := figure{
		Name: c.Name, Pic: pic.Picture, Folded: c.Folded,
		ID: id, Title: c.Title, Answer: pic.Answer, Doc: c.Doc,
		Data: pic.Data.Sentence(), Head: pic.Numbers.Head, Rows: pic.Numbers.Rows,
	}
	if n := len(f.Rows); n > chart.MostTableRows {
		f.Rows = f.Rows[:chart.MostTableRows]
		f.Omitted = fmt.Sprintf("These are the first %d of %d rows; results.jsonl has all of them.", chart.MostTableRows, n)
	}
	f.Omitted = strings.TrimSpace(f.Omitted + " " + notKnown(chart.Table{Head: f.Head, Rows: f.Rows}))
	if pic.Height > 0 {
		svg, err := draw.Inline(pic.Picture, id, c.Title, pic.Answer)
		if err != nil {
			return f, fmt.Errorf("chart %s: %w", c.Name, err)
		}
		f.SVG = template.HTML(svg)
	}
	return f, nil
}

// A breach is a violation in the table of broken promises.
type breach struct {
	Lock, Workload, Rule, Detail string
	Round                        int
	Count                        uint64
	Trace                        []string // of a process that crashed
}

// Traces returns the first trace of each lock that crashed its process.
func (doc *document) Traces() (out []breach) {
	for _, b := range doc.Broken {
		if len(b.Trace) > 0 && !slices.ContainsFunc(out, func(o breach) bool { return o.Lock == b.Lock }) {
			out = append(out, b)
		}
	}
	return out
}

// Head returns the title of the trace of b.
func (b breach) Head() string {
	return fmt.Sprintf("How %s ended its process in round %d of %s", b.Lock, b.Round, b.Workload)
}

func (b breach) Text() string { return strings.Join(b.Trace, "\n") }

// Audited counts the checks of a run.
func (doc *document) Audited() string {
	cs := doc.Audit
	var windows int
	var ops uint64
	for _, c := range cs {
		windows += c.Windows
		ops += c.Ops
	}
	return fmt.Sprintf("What was checked: %s of %s, %s acquisitions", numfmt.Plural(windows, "window"), numfmt.Plural(len(cs), "lock"), numfmt.SI(float64(ops)))
}

// AuditText describes the limits of the table of checks.
func (doc *document) AuditText() string { return auditText }

// AuditHead returns the columns of the table of checks.
func (doc *document) AuditHead() []string { return auditHead }

func (doc *document) conclude(run *result.Run) {
	doc.Decisions = judge.Decisions(run)
	doc.Answers, doc.AnswerHead = answers(doc.Decisions), answerHead
	doc.Tables = viewTables(judge.Tables(run, run.Baseline), doc.Decisions)
	doc.Quality = assess(run, doc.Decisions)
	doc.Headline = doc.Quality.headline(doc.Decisions)
}

// AnswerTerms explains the columns of the answers.
func (doc *document) AnswerTerms() (out []term) {
	for _, h := range doc.AnswerHead {
		if _, t := explained(h.Text); t != nil {
			out = append(out, *t)
		}
	}
	return out
}

// Again introduces the command of doc.
func (doc *document) Again() string {
	if !doc.Measured && doc.Hardware == nil && doc.Simulated != nil {
		return "To simulate this again:"
	}
	return "To measure this again:"
}

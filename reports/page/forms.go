package page

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// A Document is a report for readers, which it writes as a page, as Markdown and as text.
type Document struct {
	form    string // the name of its templates
	data    any
	details string // the address of the full page, for links of a brief one
}

// Report returns the report of run.
func Report(run *result.Run) *Document { return &Document{form: "report", data: compose(run)} }

//go:embed *.html.tmpl
var pageTexts embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"link": link, "anchor": anchor, "signKind": signKind,
		"tokens": func() []draw.Token { return draw.Tokens }, "css": func(rgb uint32) template.CSS { return template.CSS(draw.CSS(rgb)) },
		"head": func(text string) chart.Heading { return chart.Heading{Text: text} },
		"words": func(cell string) bool {
			first, _ := utf8.DecodeRuneInString(cell)
			return unicode.IsLetter(first)
		},
	}).ParseFS(pageTexts, "*.html.tmpl"))
})

// HTML writes d as one self-contained page, without script or network.
func (d *Document) HTML(w io.Writer) error {
	var page bytes.Buffer
	err := execute(&page, templates().ExecuteTemplate, d.form+".html.tmpl", d.data)
	if err == nil {
		_, err = w.Write(linkTo(d.details, page.Bytes()))
	}
	return err
}

// execute writes nothing if the template fails.
func execute(w io.Writer, write func(w io.Writer, name string, data any) error, name string, data any) error {
	var buf bytes.Buffer
	err := write(&buf, name, data)
	if err == nil {
		_, err = w.Write(buf.Bytes())
	}
	return named(err, name)
}

// Brief returns the answer of run and its main charts. Other links lead to details, the
// relative address of the page of [Report]. Without locks it returns the full report.
func Brief(run *result.Run, details string) *Document {
	doc := compose(run)
	if doc.Measured {
		doc.cut(details)
	}
	return &Document{form: "report", data: doc, details: details}
}

// cut removes what the page at details has and a first reading does not need.
func (doc *document) cut(details string) {
	doc.Details = details
	for i := range doc.Sections {
		doc.Sections[i].Figures = mainFigures(doc.Sections[i].Figures)
	}
	doc.Sections = slices.DeleteFunc(doc.Sections, func(s section) bool { return s.Folded || len(s.Figures) == 0 })
	doc.Answers = answers(mainDecisions(doc.Decisions))
	has := make(map[bool]bool) // the main table, which is ranked if any is; by kind of lock
	for _, t := range doc.Tables {
		if t.Ranked != nil {
			has[t.remote], t.Ranked.Rows, t.Ranked.Omitted = true, nil, ""
		}
	}
	doc.Tables = slices.DeleteFunc(doc.Tables, func(t tableView) bool {
		other := t.Ranked == nil && has[t.remote]
		has[t.remote] = true
		return other
	})
	if doc.Safety != nil {
		doc.Safety.Brief, doc.Safety.Figures = true, mainFigures(doc.Safety.Figures)
	}
	doc.Checked, doc.Facts, doc.Modules, doc.glossary = "", nil, nil, glossary{}
	doc.Quality.Warnings, doc.Quality.Checks = doc.Quality.Top(), nil
}

// mainDecisions returns at most four of ds: inside a process, for readers, and between
// processes for the strongest and for the fastest class of guarantees.
func mainDecisions(ds []judge.Decision) []judge.Decision {
	var rows [4][]judge.Decision
	for i, d := range ds {
		row := 0
		switch s := d.Situation; {
		case s.Distributed():
			row = 2
		case s.Group().Kind() == judge.Read:
			row = 1
		}
		if first := rows[row]; first != nil && first[0].Situation.Group() != d.Situation.Group() {
			continue
		}
		if rows[3] = nil; row == 2 && d.Over != "" {
			row = 3
		}
		rows[row] = ds[i : i+1]
	}
	return slices.Concat(rows[:]...)
}

// tabled are the charts whose figures are also in the tables.
var tabled = []string{"fairness", "fairness-distributed", "requests-distributed"}

func mainFigures(fs []figure) (out []figure) {
	for _, f := range fs {
		if f.Folded || f.Pic.Height == 0 || slices.Contains(tabled, f.Name) {
			continue
		}
		f.Rows, f.Omitted = nil, ""
		out = append(out, f)
	}
	return out
}

var (
	localRE  = regexp.MustCompile(`href="#([^"]+)"`)
	anchorRE = regexp.MustCompile(` id="([^"]+)"`)
)

func linkTo(details string, page []byte) []byte {
	here := make(map[string]bool)
	for _, m := range anchorRE.FindAllSubmatch(page, -1) {
		here[string(m[1])] = true
	}
	return localRE.ReplaceAllFunc(page, func(link []byte) []byte {
		if id := string(localRE.FindSubmatch(link)[1]); !here[id] {
			return fmt.Appendf(nil, `href="%s#%s"`, details, id)
		}
		return link
	})
}

// Posters returns every chart of run that has something to draw, with its question, answer
// and origin. A chart that compares locks draws its largest group.
func Posters(run *result.Run) (out []draw.Poster) {
	run = chart.Sanitize(run)
	gs := chart.Groups(run)
	faults, _ := chart.FaultCharts(run)
	all := slices.Concat(chart.FindingCharts(run), faults, chart.SimulatedCharts(chart.ModelledOf(run)))
	for _, c := range chart.Suite {
		if g := c.Subject(gs); g != nil {
			all = append(all, c.Of(g))
		}
	}
	for _, c := range all {
		if c.Pic.Height == 0 {
			continue
		}
		p := draw.Poster{Name: c.Name, Title: c.Title, Answer: c.Pic.Answer, Note: c.Doc, Data: c.Pic.Data.Sentence(), Foot: origin(run), Picture: c.Pic.Picture}
		if f := c.Finding; f != nil {
			p.Title, p.Caption = chart.Title(f), c.Title
			if f.Interrupted {
				p.Note = strings.TrimSpace(chart.Stopped + " " + p.Note)
			}
		}
		if c.Model != nil {
			p.Foot = simulatedFoot(c.Model, run)
		}
		out = append(out, p)
	}
	return out
}

func simulatedFoot(m *chart.Modelled, run *result.Run) string {
	return strings.TrimSuffix("simulated: "+m.Name()+", "+m.Shape()+" · locklab "+run.Manifest.ShortCommit(), " · locklab ")
}

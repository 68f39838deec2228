package page

import (
	"bytes"
	"embed"
	"html/template"
	"io"
	"sync"
	"unicode"
	"unicode/utf8"

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

// Tables returns the tables of run, which compare all locks with the baseline, for a terminal.
func Tables(run *result.Run) *Document {
	doc := new(document)
	doc.conclude(chart.Sanitize(run))
	return &Document{form: "tables", data: doc.Tables}
}

//go:embed *.html.tmpl
var pageTexts embed.FS

var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("page").Funcs(template.FuncMap{
		"link": link, "anchor": anchor, "signKind": signKind, "paints": paints,
		"head": func(text string) chart.Piece { return chart.Piece{Text: text} },
		"words": func(cell string) bool {
			first, _ := utf8.DecodeRuneInString(cell)
			return unicode.IsLetter(first)
		},
	}).ParseFS(pageTexts, "*.html.tmpl"))
})

// A paint is a colour in the style of a page, in its two themes.
type paint struct {
	Name        string
	Light, Dark template.CSS
}

func paints() (out []paint) {
	for _, t := range draw.Tokens {
		out = append(out, paint{t.Name, template.CSS(draw.CSS(t.Light)), template.CSS(draw.CSS(t.Dark))})
	}
	return out
}

// HTML writes d as one self-contained page, without script or network.
func (d *Document) HTML(w io.Writer) error {
	if d.details == "" {
		return execute(w, templates(), d.form+".html.tmpl", d.data)
	}
	var page bytes.Buffer
	err := execute(&page, templates(), d.form+".html.tmpl", d.data)
	if err == nil {
		_, err = w.Write(leadTo(d.details, page.Bytes()))
	}
	return err
}

// execute writes the output of a template for data, or nothing if the template fails.
func execute(w io.Writer, t interface {
	ExecuteTemplate(w io.Writer, name string, data any) error
}, name string, data any) error {
	var buf bytes.Buffer
	err := t.ExecuteTemplate(&buf, name, data)
	if err == nil {
		_, err = w.Write(buf.Bytes())
	}
	return named(err, name)
}

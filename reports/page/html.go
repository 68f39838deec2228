package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"strings"

	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

//go:embed report.html.tmpl
var reportText string

//go:embed verdict.html.tmpl
var verdictText string // called by reportText

//go:embed safety.html.tmpl
var safetyText string // also called by reportText

// WriteHTML writes the report of run as one self-contained page, without script or network.
func WriteHTML(w io.Writer, run *result.Run) error {
	doc, err := compose(run)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return writePage(w, "report", doc)
}

func writePage(w io.Writer, name string, data any) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"link": link, "tip": tip,
		"head": func(text string) chart.Piece { return chart.Piece{Text: text} },
		"words": func(cell string) bool {
			return strings.Trim(cell[:min(1, len(cell))], "0123456789") != "" && cell != numfmt.Unknown
		},
	}).Parse(reportText + verdictText + safetyText)
	if err == nil {
		_, err = t.New("machines").Parse(machinesText + historyText)
	}
	var buf bytes.Buffer
	if err == nil {
		err = t.ExecuteTemplate(&buf, name, data)
	}
	if err == nil {
		_, err = w.Write(buf.Bytes())
	}
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return nil
}

//go:embed machines.html.tmpl
var machinesText string

//go:embed history.html.tmpl
var historyText string // changes over runs

package lab

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"locklab/reports/page"
	"os"
	"path/filepath"
	"strings"
)

// A target is the files of a report; "" omits one.
type target struct{ html, markdown string }

func newTarget(out string) target {
	if info, err := os.Stat(out); err != nil || !info.IsDir() {
		switch strings.ToLower(filepath.Ext(out)) {
		case ".html", ".htm":
			return target{html: out}
		case ".md", ".markdown":
			return target{markdown: out}
		}
	}
	return target{filepath.Join(out, reportName), filepath.Join(out, markdownName)}
}

func (t target) first() string { return cmp.Or(t.html, t.markdown) }

// folder is unique for each report.
func (t target) folder() string {
	base := filepath.Base(t.markdown)
	if base == markdownName {
		return chartsName
	}
	return strings.TrimSuffix(base, filepath.Ext(base)) + "-" + chartsName
}

// write writes each file of t once complete.
func (t target) write(files *saver, html func(io.Writer) error, markdown func(w io.Writer, folder string, picture func(string, []byte) error) error) error {
	if t.html != "" {
		if err := files.write(t.html, html); err != nil {
			return err
		}
	}
	if t.markdown == "" {
		return nil
	}
	var text bytes.Buffer
	var unsaved error // without the place in the template
	err := markdown(&text, t.folder(), func(path string, png []byte) error {
		unsaved = files.save(filepath.Join(filepath.Dir(t.markdown), filepath.FromSlash(path)), png)
		return unsaved
	})
	if err != nil {
		return cmp.Or(unsaved, err)
	}
	return files.save(t.markdown, text.Bytes())
}

// publish writes the files of doc, and its text with the path of the report.
func (t target) publish(stdout io.Writer, files *saver, doc *page.Document, html func(io.Writer) error) error {
	err := t.write(files, html, doc.Markdown)
	if err == nil {
		err = doc.Text(stdout, width(stdout))
	}
	if err == nil {
		fmt.Fprintf(stdout, "\n%s\n", reportLine(t.first()))
	}
	return err
}

func reportLine(file string) string {
	if abs, err := filepath.Abs(file); err == nil {
		file = abs
	}
	return "report: " + file
}

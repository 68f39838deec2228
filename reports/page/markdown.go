package page

import (
	"bytes"
	_ "embed"
	"fmt"
	"html"
	"io"
	"net/url"
	"path"
	"slices"
	"strings"
	"text/template"
	"unicode"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

// WriteMarkdown writes the content of [WriteHTML] as GitHub Flavored Markdown. Before the text
// it passes each chart, a PNG of 144 dots per inch, to picture with its path, folder/NAME.png.
func WriteMarkdown(w io.Writer, run *result.Run, folder string, picture func(path string, png []byte) error) error {
	doc, err := compose(run)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return newMarkdown(folder, picture, doc.glossary).write(w, "report", doc)
}

// WriteMachinesMarkdown writes [WriteMachinesHTML]'s content as [WriteMarkdown] does.
func WriteMachinesMarkdown(w io.Writer, ms []chart.Machine, folder string, picture func(path string, png []byte) error) error {
	doc, err := composeMachines(ms)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return newMarkdown(folder, picture, doc.glossary).write(w, "machines", doc)
}

// WriteHistoryMarkdown writes [WriteHistoryHTML]'s content as [WriteMarkdown] does.
func WriteHistoryMarkdown(w io.Writer, h *judge.History, folder string, picture func(path string, png []byte) error) error {
	doc, err := composeHistory(h)
	if err != nil {
		return fmt.Errorf("reports: %w", err)
	}
	return newMarkdown(folder, picture, doc.glossary).write(w, "history", doc)
}

//go:embed markdown.md.tmpl
var markdownText string

// A markdown is one text. It passes the pictures of the text to the caller.
type markdown struct {
	folder   string
	picture  func(path string, png []byte) error
	taken    map[string]bool // names of pictures
	glossary glossary        // that the text has
}

func newMarkdown(folder string, picture func(path string, png []byte) error, g glossary) *markdown {
	return &markdown{folder: folder, picture: picture, taken: make(map[string]bool), glossary: g}
}

// A part is a value with a name, for a template.
type part struct {
	Name string
	Of   any
}

func (m *markdown) write(w io.Writer, name string, data any) error {
	t, err := template.New("markdown").Funcs(template.FuncMap{
		"inline": inlineText, "para": blockText, "fence": fenced, "table": markdownTable, "heads": heads, "row": row,
		"image": m.image, "meanings": m.meanings, "texts": chart.Texts, "plainText": plainText,
		"trim": strings.TrimSpace, "plural": numfmt.Plural,
		"named":   func(name string, of any) part { return part{name, of} },
		"summary": func(s string) string { return html.EscapeString(oneLine(s)) },
		"unknown": func() string { return numfmt.Unknown }, "noDecision": func() string { return noDecision },
	}).Parse(markdownText)
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

func (m *markdown) image(title, answer, name string, pic draw.Picture) (string, error) {
	if pic.Height == 0 {
		return "", nil
	}
	for m.taken[name] {
		name += "-again"
	}
	m.taken[name] = true
	png, err := pic.PNG()
	if err != nil {
		return "", err
	}
	file := path.Join(m.folder, name+".png")
	return fmt.Sprintf("![%s](<%s>)\n\n", inlineText(title+" "+answer), &url.URL{Path: file}), m.picture(file, png)
}

// meanings returns a line of links from a table's columns to the glossary.
func (m *markdown) meanings(head []chart.Piece) string {
	var order []string
	named := make(map[string][]string)
	for _, h := range head {
		link := link(h)
		if !m.glossary.defines(link) || slices.Contains(named[link], h.Text) {
			continue
		}
		if named[link] == nil {
			order = append(order, link)
		}
		named[link] = append(named[link], h.Text)
	}
	for i, link := range order {
		order[i] = fmt.Sprintf("[%s](#%s)", inlineText(strings.Join(named[link], ", ")), link)
	}
	if order == nil {
		return ""
	}
	return "What the columns mean: " + strings.Join(order, " · ") + ".\n\n"
}

func fenced(s string) string {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	return fence + "\n" + strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.TrimRight(s, "\n")) + "\n" + fence
}

func markdownTable(head []string, rows [][]string) string {
	var b strings.Builder
	b.WriteString(heads(head))
	for _, cells := range rows {
		b.WriteString(row(slices.Concat(cells, make([]string, max(0, len(head)-len(cells))))[:len(head)]))
	}
	return b.String()
}

func heads(columns ...any) string {
	line := row(columns...)
	return line + "|" + strings.Repeat(" --- |", strings.Count(line, "|")-1) + "\n"
}

func row(cells ...any) string {
	var b strings.Builder
	add := func(text string) { b.WriteString("| " + inlineText(text) + " ") }
	for _, c := range cells {
		switch c := c.(type) {
		case string:
			add(c)
		case []string:
			for _, s := range c {
				add(s)
			}
		case []chart.Piece:
			for _, p := range c {
				add(p.Text)
			}
		case []safetyCell:
			for _, s := range c {
				add(s.Mark + " " + s.Text)
			}
		}
	}
	return b.String() + "|\n"
}

// markdownEscapes escapes the markup of Markdown and GitHub, with formulas and addresses.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "$", "&#36;", "://", "&#58;//",
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`,
)

func inlineText(s string) string { return markdownEscapes.Replace(oneLine(s)) }

func blockText(s string) string {
	s = inlineText(s)
	digits := strings.TrimLeft(s, "0123456789")
	switch {
	case s == "":
		return ""
	case strings.ContainsRune("#+-=", rune(s[0])):
		return `\` + s
	case len(digits) < len(s) && digits != "" && (digits[0] == '.' || digits[0] == ')'):
		return s[:len(s)-len(digits)] + `\` + digits
	}
	return s
}

func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), func(r rune) bool { return r == ' ' }), " ")
}

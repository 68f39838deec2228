package page

import (
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

	"locklab/internal/numfmt"
	"locklab/reports/chart"
	"locklab/reports/draw"
)

//go:embed markdown.md.tmpl
var markdownText string

// A markdown is one text. It passes the pictures of the text to the caller.
type markdown struct {
	folder  string
	picture func(path string, png []byte) error
	taken   map[string]bool // names of pictures
}

// A part is a value with a name, for a template.
type part struct {
	Name string
	Of   any
}

// Markdown writes d as GitHub Flavored Markdown. Before the text it passes each chart, a PNG
// of 144 dots per inch, to picture with its path, folder/NAME.png.
func (d *Document) Markdown(w io.Writer, folder string, picture func(path string, png []byte) error) error {
	m := &markdown{folder: folder, picture: picture, taken: make(map[string]bool)}
	t := template.Must(template.New("markdown").Funcs(template.FuncMap{
		"inline": inlineText, "para": blockText, "fence": fenced, "table": markdownTable, "heads": heads, "row": row,
		"image": m.image, "plainText": plainText,
		"trim": strings.TrimSpace, "anchor": anchor, "plural": numfmt.Plural,
		"named":   func(name string, of any) part { return part{name, of} },
		"summary": func(s string) string { return html.EscapeString(oneLine(s)) },
		"unknown": func() string { return numfmt.Unknown }, "noDecision": func() string { return noDecision },
	}).Parse(markdownText))
	return execute(w, t.ExecuteTemplate, d.form, d.data)
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

func markdownTable(head []chart.Heading, rows [][]string) string {
	out := heads(head)
	for _, cells := range rows {
		out += row(slices.Concat(cells, make([]string, max(0, len(head)-len(cells))))[:len(head)])
	}
	return out
}

func heads(columns ...any) string {
	line := row(columns...)
	return line + "|" + strings.Repeat(" --- |", strings.Count(line, "|")-1) + "\n"
}

func row(cells ...any) string {
	var texts []string
	for _, c := range cells {
		switch c := c.(type) {
		case []string:
			texts = append(texts, c...)
		case []chart.Heading:
			texts = append(texts, chart.Texts(c)...)
		case []sign:
			for _, s := range c {
				texts = append(texts, s.Mark+" "+s.Text)
			}
		default:
			texts = append(texts, fmt.Sprint(c))
		}
	}
	var b strings.Builder
	for _, text := range texts {
		b.WriteString("| " + inlineText(text) + " ")
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
	return strings.Join(strings.FieldsFunc(s, func(r rune) bool { return r == ' ' || unicode.IsControl(r) }), " ")
}

package page

import (
	"bytes"
	"fmt"
	"html"
	"io"
	"strings"
	"unicode"
)

func (m *markdown) heading(level int, text string) {
	fmt.Fprintf(&m.buf, "%s %s\n\n", strings.Repeat("#", level), inlineText(text))
}

func (m *markdown) text(s string) { fmt.Fprintf(&m.buf, "%s\n\n", blockText(s)) }

func (m *markdown) items(list []string) {
	for _, s := range list {
		fmt.Fprintf(&m.buf, "- %s\n", blockText(s))
	}
	if len(list) > 0 {
		m.buf.WriteByte('\n')
	}
}

// open begins a folded part; close ends it.
func (m *markdown) open(summary string) {
	fmt.Fprintf(&m.buf, "<details><summary>%s</summary>\n\n", html.EscapeString(oneLine(summary)))
}

func (m *markdown) close() { m.buf.WriteString("</details>\n\n") }

// code writes s unchanged, in a fence longer than any fence in it.
func (m *markdown) code(s string) {
	fence := "```"
	for strings.Contains(s, fence) {
		fence += "`"
	}
	fmt.Fprintf(&m.buf, "%s\n%s\n%s\n\n", fence, strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' && r != '\t' {
			return -1
		}
		return r
	}, strings.TrimRight(s, "\n")), fence)
}

func (m *markdown) facts(fs []fact) {
	var rows [][]string
	for _, f := range fs {
		rows = append(rows, []string{f.Name, f.Value})
	}
	m.table([]string{"property", "value"}, rows)
}

// table writes rows of plain text, and fills up short rows.
func (m *markdown) table(head []string, rows [][]string) {
	escaped := make([][]string, len(rows))
	for i, row := range rows {
		for _, c := range row {
			escaped[i] = append(escaped[i], inlineText(c))
		}
	}
	m.rows(head, escaped)
}

func (m *markdown) rows(head []string, rows [][]string) {
	line := func(cells []string) {
		m.buf.WriteString("|")
		for i := range head {
			c := ""
			if i < len(cells) {
				c = cells[i]
			}
			m.buf.WriteString(" " + c + " |")
		}
		m.buf.WriteString("\n")
	}
	var titles []string
	for _, h := range head {
		titles = append(titles, inlineText(h))
	}
	line(titles)
	m.buf.WriteString("|" + strings.Repeat(" --- |", len(head)) + "\n")
	for _, row := range rows {
		line(row)
	}
	m.buf.WriteByte('\n')
}

// markdownEscapes escapes the markup of Markdown and GitHub, including formulas between
// dollars, and addresses.
var markdownEscapes = strings.NewReplacer(
	"&", "&amp;", "<", "&lt;", ">", "&gt;", "|", "&#124;", "$", "&#36;", "://", "&#58;//",
	`\`, `\\`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "~", `\~`,
)

// inlineText escapes s, which may come from anywhere, so that Markdown shows it literally.
func inlineText(s string) string { return markdownEscapes.Replace(oneLine(s)) }

// blockText is inlineText for the start of a line, where more characters have a meaning.
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

// oneLine joins the lines of s and drops invisible characters.
func oneLine(s string) string {
	return strings.Join(strings.FieldsFunc(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, s), func(r rune) bool { return r == ' ' }), " ")
}

// A markdown collects a text and passes its pictures to the caller. The first error ends
// both.
type markdown struct {
	buf     bytes.Buffer
	folder  string
	picture func(path string, png []byte) error
	taken   map[string]bool // names of pictures
	err     error

	glossary glossary // that the text has
}

func (m *markdown) writeTo(w io.Writer) error {
	if m.err == nil {
		_, m.err = w.Write(m.buf.Bytes())
	}
	if m.err != nil {
		return fmt.Errorf("reports: %w", m.err)
	}
	return nil
}

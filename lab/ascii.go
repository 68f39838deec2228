package lab

import (
	"bytes"
	"cmp"
	"io"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"
)

// A file is an output with a descriptor, which gives the width of a terminal.
type file interface {
	io.Writer
	Fd() uintptr
}

// needsASCII reports whether the terminal shows ASCII only: a locale without UTF-8, such as C,
// or the Linux console. Without a locale it counts as UTF-8.
func needsASCII(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	utf := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
	return locale != "" && !utf || getenv("TERM") == "linux"
}

// readable returns a writer to out that the user's terminal can show; files stay unchanged.
func readable(out *os.File, getenv func(string) string) file {
	if info, err := out.Stat(); err != nil || info.Mode().IsRegular() || !needsASCII(getenv) {
		return out
	}
	return &asciiWriter{file: out}
}

func exact(cmd *cobra.Command) {
	format, json := cmd.Flags().Lookup("format"), cmd.Flags().Lookup("json")
	if format != nil && format.Value.String() != "text" || json != nil && json.Value.String() == "true" {
		if a, ok := cmd.OutOrStdout().(*asciiWriter); ok {
			cmd.SetOut(a.file)
		}
	}
}

type asciiWriter struct {
	file
	cut []byte // the first bytes of a split character
}

func (w *asciiWriter) Write(text []byte) (int, error) {
	rest := append(w.cut, text...)
	var out bytes.Buffer
	for len(rest) > 0 && utf8.FullRune(rest) {
		r, size := utf8.DecodeRune(rest)
		out.WriteString(ascii(r))
		rest = rest[size:]
	}
	w.cut = bytes.Clone(rest)
	if _, err := w.file.Write(out.Bytes()); err != nil {
		return 0, err
	}
	return len(text), nil
}

// inASCII has one character for each character of the lab's output, so that columns stay
// aligned. It has more only if one would be ambiguous.
var inASCII = strings.NewReplacer(
	"µ", "u", "μ", "u", "…", "~", "·", "|", "–", "-", "—", "-", "−", "-", "×", "x", "±", "~", "÷", "/",
	"≤", "<=", "≥", ">=", "→", "->", "↑", "^", "∞", "inf", "≈", "~", "²", "2", "₀", "0", "§", "section ",
	"✓", "+", "✗", "x", "▲", "^", "△", "^", "○", "o", "●", "*", "█", "#", "▌", "#", "│", "|", "─", "-",
	"\u00a0", " ", "\u2009", " ", "\u202f", " ", "“", `"`, "”", `"`, "‘", "'", "’", "'",
	"ä", "a", "ö", "o", "ü", "u", "Ä", "A", "Ö", "O", "Ü", "U", "ß", "ss", "é", "e", "è", "e", "à", "a", "ć", "c",
)

func ascii(r rune) string {
	if r < utf8.RuneSelf {
		return string(r)
	}
	if text := inASCII.Replace(string(r)); text[0] < utf8.RuneSelf {
		return text
	}
	return "?"
}

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

// A file is an output with a descriptor, by which the width of a terminal is found.
type file interface {
	io.Writer
	Fd() uintptr
}

// needsASCII reports whether the user's terminal shows ASCII only: by its locale, of which C
// and POSIX have no other characters, or because it is the console of Linux, which lacks
// most of them. Without a locale it is taken to show all.
func needsASCII(getenv func(string) string) bool {
	locale := strings.ToLower(cmp.Or(getenv("LC_ALL"), getenv("LC_CTYPE"), getenv("LANG")))
	utf := strings.Contains(locale, "utf-8") || strings.Contains(locale, "utf8")
	return locale != "" && !utf || getenv("TERM") == "linux"
}

// readable returns a writer to out of text that the user's terminal can show. What is
// redirected to a file stays as it is.
func readable(out *os.File, getenv func(string) string) file {
	if info, err := out.Stat(); err != nil || info.Mode().IsRegular() || !needsASCII(getenv) {
		return out
	}
	return &asciiWriter{file: out}
}

// exact lets cmd write data for programs as it is: JSON, CSV and the like.
func exact(cmd *cobra.Command) {
	format, json := cmd.Flags().Lookup("format"), cmd.Flags().Lookup("json")
	if format != nil && format.Value.String() != "text" || json != nil && json.Value.String() == "true" {
		if a, ok := cmd.OutOrStdout().(*asciiWriter); ok {
			cmd.SetOut(a.file)
		}
	}
}

// An asciiWriter replaces all characters beyond ASCII.
type asciiWriter struct {
	file
	cut []byte // the beginning of a character
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

// inASCII has one character for each that the lab prints, so that columns stay in place, and
// more only if one would be misread.
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

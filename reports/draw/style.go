package draw

import (
	"regexp"
	"sort"
	"strings"

	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Typeset returns a text style. The typeface has the metrics of Arial, for a stable layout.
func Typeset(size float64, t Token, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   t.RGBA(),
		Font:    plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

func Bold(s text.Style) text.Style {
	s.Font.Weight = 3 // WeightBold of golang.org/x/image/font
	return s
}

func boldIf(strong bool, s text.Style) text.Style {
	if strong {
		return Bold(s)
	}
	return s
}

func bold8() text.Style { return Bold(Typeset(8, Ink, draw.XLeft, draw.YCenter)) }

func wrap(st text.Style, s string, w vg.Length) []string {
	return Wrap(s, func(line string) bool { return st.Width(line) <= w })
}

// Wrap returns s in lines that fit. A word that does not fit has its own line.
func Wrap(s string, fit func(line string) bool) (lines []string) {
	cur := ""
	for word := range strings.SplitSeq(s, " ") {
		next := strings.TrimLeft(cur+" "+word, " ")
		if cur != "" && word != "" && !fit(next) {
			lines = append(lines, cur)
			next = word
		}
		if word != "" {
			cur = next
		}
	}
	return append(lines, cur)
}

var status = regexp.MustCompile(` \([a-z]+\)$`)

// Shorten cuts s to width w, with an ellipsis; a status in parentheses at its end stays.
func Shorten(st text.Style, s string, w vg.Length) string {
	if st.Width(s) <= w {
		return s
	}
	mark := status.FindString(s)
	s = strings.TrimSuffix(s, mark)
	runes := []rune(s)
	n := sort.Search(len(runes), func(n int) bool { return st.Width(string(runes[:n])+"…"+mark) > w })
	return string(runes[:max(0, n-1)]) + "…" + mark
}

// RowName returns the style of a name next to its row.
func (s Style) RowName() text.Style {
	return boldIf(s.Strong, Typeset(8.5, Ink, draw.XRight, draw.YCenter))
}

// Lift centres figures optically: they have no descenders.
const Lift = vg.Length(0.8)

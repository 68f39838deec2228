package reports

import (
	"sort"

	"gonum.org/v1/plot"
	plotfont "gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// typeset returns a text style. The typeface has the metrics of Arial, so a page keeps its
// layout on machines without it.
func typeset(size float64, t token, x text.XAlignment, y text.YAlignment) text.Style {
	return text.Style{
		Color:   t.rgba(),
		Font:    plotfont.Font{Typeface: "Liberation", Variant: "Sans", Size: vg.Points(size)},
		XAlign:  x,
		YAlign:  y,
		Handler: plot.DefaultTextHandler,
	}
}

func bold(s text.Style) text.Style {
	s.Font.Weight = 3 // WeightBold of golang.org/x/image/font
	return s
}

// wrap breaks s at spaces into lines no wider than w if possible.
func wrap(st text.Style, s string, w vg.Length) (lines []string) {
	cur := ""
	for _, word := range words(s) {
		next := word
		if cur != "" {
			next = cur + " " + word
		}
		if cur != "" && st.Width(next) > w {
			lines = append(lines, cur)
			next = word
		}
		cur = next
	}
	return append(lines, cur)
}

// wrapShort wraps s into at most n lines no wider than w; excess text becomes an ellipsis.
func wrapShort(st text.Style, s string, w vg.Length, n int) []string {
	lines := wrap(st, s, w)
	if len(lines) > n {
		lines = lines[:n]
		lines[n-1] += " …"
	}
	for i, l := range lines {
		lines[i] = shorten(st, l, w)
	}
	return lines
}

// shorten cuts s to width w, with an ellipsis.
func shorten(st text.Style, s string, w vg.Length) string {
	if st.Width(s) <= w {
		return s
	}
	// The text may come from anywhere and be very long. The mark of an unsound lock stays.
	s, mark := cutMark(s)
	runes := []rune(s)
	n := sort.Search(len(runes), func(n int) bool { return st.Width(string(runes[:n])+"…"+mark) > w })
	return string(runes[:max(0, n-1)]) + "…" + mark
}

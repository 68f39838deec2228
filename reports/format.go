package reports

import (
	"locklab/internal/numfmt"
	"slices"
	"sort"
	"strings"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// unknown stands for a figure that is not known.
const unknown = numfmt.Unknown

// nb joins a figure and its unit: no line is broken there.
const nb = numfmt.Space

// words splits s at the spaces where a line may be broken.
func words(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(w string) bool { return w == "" })
}

// shorten cuts s to width w, with an ellipsis.
func shorten(st text.Style, s string, w vg.Length) string {
	if st.Width(s) <= w {
		return s
	}
	// The text may come from anywhere and be very long. What says that a lock is
	// not to be used stays.
	s, mark := cutMark(s)
	runes := []rune(s)
	n := sort.Search(len(runes), func(n int) bool { return st.Width(string(runes[:n])+"…"+mark) > w })
	return string(runes[:max(0, n-1)]) + "…" + mark
}

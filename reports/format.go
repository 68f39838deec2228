package reports

import (
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// unknown stands for a figure that is not known.
const unknown = numfmt.Unknown

// nb joins a figure and its unit without a line break.
const nb = numfmt.Space

// words splits s at the spaces that allow a line break.
func words(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(w string) bool { return w == "" })
}

// quoted formats quantile q of h: "≤ floor" if it is below the resolution of the clock, and
// a dash if h has too few samples.
func quoted(h harness.Histogram, q, floor float64) string {
	switch f := judge.Quantile(h, q, floor); {
	case f == nil:
		return unknown
	case f.AtMost:
		return "≤ " + numfmt.Nanos(f.Value)
	default:
		return numfmt.Nanos(f.Value)
	}
}

package chart

import (
	"locklab/harness"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// numfmt.Unknown stands for a figure that is not known.
const unknown = numfmt.Unknown

// numfmt.Space joins a figure and its unit without a line break.
const nb = numfmt.Space

// quoted formats quantile q of h: "≤ floor" if it is below the resolution of the clock, and
// a dash if h has too few samples.
func quoted(h harness.Histogram, q, floor float64) string {
	switch f := verdict.Quantile(h, q, floor); {
	case f == nil:
		return numfmt.Unknown
	case f.AtMost:
		return "≤ " + numfmt.Nanos(f.Value)
	default:
		return numfmt.Nanos(f.Value)
	}
}

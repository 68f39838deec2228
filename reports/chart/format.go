package chart

import (
	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// quoted formats quantile q of h: "≤ floor" if it is below the resolution of the clock, and
// a dash if h has too few samples.
func quoted(h harness.Histogram, q, floor float64) string {
	switch f := judge.Quantile(h, q, floor); {
	case f == nil:
		return numfmt.Unknown
	case f.AtMost:
		return "≤ " + numfmt.Nanos(f.Value)
	default:
		return numfmt.Nanos(f.Value)
	}
}

package judge

import (
	"locklab/internal/numfmt"
	"math"
	"strconv"
)

const unknown = numfmt.Unknown

func ratio(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return numfmt.Number(v)
}

func share(v float64) string { return strconv.FormatFloat(math.Round(1e4*v)/1e2, 'f', -1, 64) + " %" }

func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return unknown
	case p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// plain returns s, which comes from a file, in a form that cannot control a terminal: it
// quotes s unless all of it is printable.
func plain(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToGraphic(s)
		}
	}
	return s
}

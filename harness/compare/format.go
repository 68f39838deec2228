package compare

import (
	"math"
	"strconv"
	"strings"
)

// unknown stands for a figure that is not known.
const unknown = "–"

// figures formats v, 0 or more, with three significant figures.
func figures(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case math.IsInf(v, 0):
		return "∞"
	case v >= 999.5:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v < 0.0005:
		return strconv.FormatFloat(v, 'g', 3, 64)
	}
	return strconv.FormatFloat(v, 'f', max(0, 2-int(math.Floor(math.Log10(v*1.0005)))), 64)
}

// A step is a unit and how much of the smallest unit it is.
type step struct {
	size float64
	unit string
}

// scaled formats v in the first of steps, which descend, that it fills.
func scaled(v float64, steps ...step) string {
	if math.IsNaN(v) {
		return unknown
	}
	for i, s := range steps {
		// 999 950 is written 1.00 M, not 1000 k.
		if v >= 0.9995*s.size || i == len(steps)-1 {
			return figures(v/s.size) + " " + s.unit
		}
	}
	return figures(v)
}

func perSecond(v float64) string {
	return scaled(v, step{1e9, "G/s"}, step{1e6, "M/s"}, step{1e3, "k/s"}, step{1, "/s"})
}

func nanos(v float64) string {
	return scaled(v, step{1e9, "s"}, step{1e6, "ms"}, step{1e3, "µs"}, step{1, "ns"})
}

func percent(v float64) string { return scaled(v, step{1, "%"}) }

// ratio formats a ratio with three decimals, or three figures from 10 on.
func ratio(v float64) string {
	if v < 10 {
		return strconv.FormatFloat(v, 'f', 3, 64)
	}
	return figures(v)
}

// share formats v, a share, in percent with two decimals at most: 0.05 is "5 %".
func share(v float64) string { return strconv.FormatFloat(math.Round(1e4*v)/1e2, 'f', -1, 64) + " %" }

// chance formats a p-value.
func chance(p float64) string {
	switch {
	case math.IsNaN(p):
		return unknown
	case p < 0.001:
		return "<0.001"
	}
	return strconv.FormatFloat(p, 'f', 3, 64)
}

// plain returns s, which comes from a file, without what would write elsewhere
// on a terminal: words that are no text are quoted.
func plain(s string) string {
	for _, r := range s {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToGraphic(s)
		}
	}
	return s
}

// list joins names, most of them at most.
func list(names []string, most int) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:most], ", ") + " and " + strconv.Itoa(len(names)-most) + " more"
}

// plural returns "1 round", "2 rounds".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return strconv.Itoa(n) + " " + noun
}

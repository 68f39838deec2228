package reports

import (
	"fmt"
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
)

// unknown stands for a figure that is not known.
const unknown = "–"

// nb joins a figure and its unit: no line is broken there.
const nb = "\u00a0"

// words splits s at the spaces where a line may be broken.
func words(s string) []string {
	return slices.DeleteFunc(strings.Split(s, " "), func(w string) bool { return w == "" })
}

// figures formats v >= 0 with three significant figures and no exponent.
func figures(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case math.IsInf(v, 0):
		return "∞"
	case v >= 1000:
		return strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	}
	decimals := 2
	if v > 0 {
		decimals = min(6, max(0, 2-int(math.Floor(math.Log10(v)))))
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(s, ".") {
		s = strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
	}
	return s
}

// si formats v >= 0 with an SI prefix: "28.9 M", "312 k", "4.2".
func si(v float64) string {
	for _, p := range []struct {
		least  float64
		prefix string
	}{{1e12, "T"}, {1e9, "G"}, {1e6, "M"}, {1e3, "k"}} {
		// 999 950 is written 1 M, not 1000 k.
		if v >= p.least*0.9995 {
			return figures(v/p.least) + nb + p.prefix
		}
	}
	return figures(v)
}

// perSecond formats a rate.
func perSecond(v float64) string {
	s := si(v)
	switch {
	case s == unknown:
		return s
	case strings.Contains(s, nb):
		return s + "/s"
	}
	return s + nb + "/s"
}

// nanos formats a time given in nanoseconds.
func nanos(ns float64) string {
	switch {
	case math.IsNaN(ns):
		return unknown
	case ns >= 0.9995e9:
		return figures(ns/1e9) + nb + "s"
	case ns >= 0.9995e6:
		return figures(ns/1e6) + nb + "ms"
	case ns >= 0.9995e3:
		return figures(ns/1e3) + nb + "µs"
	}
	return figures(ns) + nb + "ns"
}

// percent formats v, in percent, to a precision that does not turn 99.6 into
// 100 or 0.4 into 0.
func percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return unknown
	case v == 0 || v >= 9.95 && v < 99 || v >= 99.95:
		return fmt.Sprintf("%.0f", v) + nb + "%"
	case v < 0.095:
		return "<" + nb + "0.1" + nb + "%"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + nb + "%"
}

// times formats a ratio of 1 or more with two significant figures: "1.3 times".
func times(v float64) string {
	if v < 10 || math.IsInf(v, 0) {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " times"
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	s := fmt.Sprintf("%.0f", math.Round(v/unit)*unit)
	for i := len(s) - 3; len(s) > 4 && i > 0; i -= 3 {
		s = s[:i] + nb + s[i:]
	}
	return s + " times"
}

// sentence gives s a capital and a full stop.
func sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	s = string(unicode.ToUpper(r)) + s[n:]
	if !strings.HasSuffix(s, ".") {
		s += "."
	}
	return s
}

// plural returns "1 worker", "2 workers".
func plural(n int, noun string) string {
	if n != 1 {
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, noun)
}

// list joins names: "a, b and c", or "a, b and 5 more" beyond most of them.
func list(names []string, most int) string {
	switch n := len(names); {
	case n == 0:
		return ""
	case n == 1:
		return names[0]
	case n <= most:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", n-most+1)
	}
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

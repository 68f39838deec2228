package numfmt

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Unknown replaces an unknown figure.
const Unknown = "–"

// Space joins a figure and its unit without a line break. [Plain] makes it an ordinary
// space, for terminals.
const Space = "\u00a0"

// Plain returns s with ordinary spaces.
func Plain(s string) string { return strings.ReplaceAll(s, Space, " ") }

// Number formats v >= 0 with three significant figures and no exponent.
func Number(v float64) string {
	switch {
	case math.IsNaN(v):
		return Unknown
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

// SI formats v >= 0 with an SI prefix: "28.9 M", "312 k", "4.2".
func SI(v float64) string {
	if v < 999.5 || math.IsNaN(v) {
		return Number(v)
	}
	return scaled(v, unit{1e12, "T"}, unit{1e9, "G"}, unit{1e6, "M"}, unit{1e3, "k"})
}

type unit struct {
	size float64
	name string
}

func scaled(v float64, units ...unit) string {
	i := slices.IndexFunc(units, func(u unit) bool { return v >= u.size*0.9995 }) // 999 950 becomes 1 M, not 1000 k
	if i < 0 {
		i = len(units) - 1
	}
	return Number(v/units[i].size) + Space + units[i].name
}

// PerSecond formats a rate.
func PerSecond(v float64) string {
	s := SI(v)
	switch {
	case s == Unknown:
		return s
	case strings.Contains(s, Space):
		return s + "/s"
	}
	return s + Space + "/s"
}

// Nanos formats a time given in nanoseconds.
func Nanos(ns float64) string {
	if math.IsNaN(ns) {
		return Unknown
	}
	return scaled(ns, unit{1e9, "s"}, unit{1e6, "ms"}, unit{1e3, "µs"}, unit{1, "ns"})
}

// Percent formats v, in percent, with enough precision that 99.6 does not become 100 or
// 0.4 become 0.
func Percent(v float64) string {
	switch {
	case math.IsNaN(v):
		return Unknown
	case v == 0 || v >= 9.95 && v < 99 || v >= 99.95:
		return fmt.Sprintf("%.0f", v) + Space + "%"
	case v < 0.095:
		return "<" + Space + "0.1" + Space + "%"
	}
	return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + Space + "%"
}

// Times formats a ratio of 1 or more with two significant figures: "1.3 times".
func Times(v float64) string {
	if v < 10 || math.IsInf(v, 0) {
		return strings.TrimSuffix(fmt.Sprintf("%.1f", v), ".0") + " times"
	}
	unit := math.Pow(10, math.Floor(math.Log10(v))-1)
	s := fmt.Sprintf("%.0f", math.Round(v/unit)*unit)
	for i := len(s) - 3; len(s) > 4 && i > 0; i -= 3 {
		s = s[:i] + Space + s[i:]
	}
	return s + " times"
}

// Sentence gives s a capital and a full stop.
func Sentence(s string) string {
	r, n := utf8.DecodeRuneInString(s)
	if n == 0 {
		return ""
	}
	return strings.TrimSuffix(string(unicode.ToUpper(r))+s[n:], ".") + "."
}

// Plural returns "1 worker", "2 workers".
func Plural(n int, noun string) string {
	return fmt.Sprintf("%d %s", n, Noun(n, noun))
}

// Range returns the least and the greatest of ns: "5 to 10 rounds", or "10 rounds" if they are
// equal.
func Range(ns []int, noun string) string {
	if len(ns) == 0 {
		return Plural(0, noun)
	}
	least, most := slices.Min(ns), slices.Max(ns)
	if least < most {
		return fmt.Sprintf("%d to %s", least, Plural(most, noun))
	}
	return Plural(most, noun)
}

// Noun returns noun in the form for the number n: "worker", "workers".
func Noun(n int, noun string) string { return Choose(n, noun, noun+"s") }

// Choose returns one if n is 1, else more: for words that agree with a number, such as
// "is" and "are".
func Choose(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// List joins names: "a, b and c", or "a, b and 5 more" if there are more than most.
func List(names []string, most int) string {
	switch n := len(names); {
	case n < 2:
		return strings.Join(names, "")
	case n <= most:
		return strings.Join(names[:n-1], ", ") + " and " + names[n-1]
	default:
		return strings.Join(names[:most-1], ", ") + fmt.Sprintf(" and %d more", n-most+1)
	}
}

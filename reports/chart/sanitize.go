package chart

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"locklab/harness/result"
)

// MostName limits the names of locks, in characters.
const MostName = 36

// Sanitize returns run with unique names of locks that have at most [MostName] characters and
// the status of an unsound lock. It must not be applied to its own result.
func Sanitize(run *result.Run) *result.Run {
	names := make(map[string]string)
	out := *run
	rename := func(l *result.Lock) {
		name := MarkedName(shortName(names, l.Name), l.Status)
		if l.Name == run.Baseline {
			out.Baseline = name
		}
		l.Name = name
	}
	out.Results = edited(run.Results, func(r *result.Result) { rename(&r.Lock) })
	out.Faults = edited(run.Faults, func(f *result.FaultResult) { rename(&f.Lock) })
	out.Simulations = edited(run.Simulations, func(s *result.Simulation) { rename(&s.Lock) })
	out.Manifest.Skipped = slices.Clone(run.Manifest.Skipped)
	for i := range out.Manifest.Skipped {
		out.Manifest.Skipped[i].Lock = shortName(names, out.Manifest.Skipped[i].Lock)
	}
	return &out
}

// Distinct returns the different values of xs, in the order of their first occurrence.
func Distinct[S any, K comparable](xs []S, value func(S) K) []K {
	return result.Each(result.GroupBy(xs, value), func(same []S) K { return value(same[0]) })
}

func edited[T any](vs []*T, edit func(*T)) (out []*T) {
	for _, v := range vs {
		c := *v
		edit(&c)
		out = append(out, &c)
	}
	return out
}

// Short returns text with at most most characters.
func Short(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

// shortName is short for a name that it adds to names, numbered if not unique.
func shortName(names map[string]string, name string) string {
	if s, known := names[name]; known {
		return s
	}
	taken := slices.Collect(maps.Values(names))
	s := Short(name, MostName)
	for n := 2; s != name && slices.Contains(taken, s); n++ {
		s = fmt.Sprintf("%s %d", Short(name, MostName-4), n)
	}
	names[name] = s
	return s
}

// Limits of a table in the page; results.jsonl has the rest.
const (
	MostHeatColumns = 24 // of a field: a wider one is read as a map
	MostTableRows   = 400
)

// SlugOf returns s as part of an address or a file name: "hold=1µs gc=on" becomes
// "hold-1us-gc-on".
func SlugOf(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == 'µ' || r == 'μ':
			return 'u'
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		}
		return ' '
	}, strings.ToLower(s))
	words := strings.Fields(s)
	if len(words) == 0 {
		return "other"
	}
	return strings.Join(words[:min(len(words), 12)], "-")
}

var NameRE = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

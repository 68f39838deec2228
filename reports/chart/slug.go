package chart

import (
	"regexp"
	"strings"
)

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

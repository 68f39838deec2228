package page

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/result"
	"locklab/internal/require"
)

// glossaryRows returns the first cells of a table of docs/glossary.md.
func glossaryRows(t *testing.T, title string) (names []string) {
	t.Helper()
	text, err := os.ReadFile("../../docs/glossary.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(text), "| "+title+" | Meaning |\n|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range regexp.MustCompile(`(?m)^\| (.*?) \|`).FindAllStringSubmatch(table, -1) {
		names = append(names, strings.Split(strings.ReplaceAll(row[1], "`", ""), ", ")...)
	}
	slices.Sort(names)
	if len(slices.Compact(slices.Clone(names))) < len(names) {
		t.Errorf("docs/glossary.md explains a word twice: %q", names)
	}
	return names
}

// TestGlossary: the terms of a page are words of the glossary, and its units are the metrics'.
func TestGlossary(t *testing.T) {
	words := glossaryRows(t, "Word")
	if len(words) > 40 {
		t.Errorf("the glossary has %d words, want at most 40", len(words))
	}
	seen := make(map[string]bool)
	for _, x := range slices.Concat(terms, modelTerms) {
		if !slices.Contains(words, x.Name) {
			t.Errorf("the glossary lacks %q", x.Name)
		}
		for _, name := range append([]string{x.Name}, x.heads...) {
			if seen[name] || headMetrics[name] != nil {
				t.Errorf("%q stands twice among the terms", name)
			}
			seen[name] = true
		}
	}
	var units []string
	for _, m := range result.Metrics {
		units = append(units, m.Unit)
	}
	slices.Sort(units)
	if documented := glossaryRows(t, "Unit"); !slices.Equal(documented, slices.Compact(units)) {
		t.Errorf("the glossary has the units\n%q, the metrics\n%q", documented, units)
	}
}

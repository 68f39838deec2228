package lab

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/harness/result"
)

// glossary returns the words and units that docs/glossary.md explains, in lower case.
func glossary(t *testing.T) (words, units []string) {
	t.Helper()
	text := readFile(t, "../docs/glossary.md")
	into, seen := &words, make(map[string]bool)
	for line := range strings.Lines(text) {
		cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " |")
		switch {
		case !strings.HasPrefix(line, "| "):
		case cell == "Word":
			seen = make(map[string]bool) // a word may have another meaning in another table
		case cell == "Unit":
			into, seen = &units, make(map[string]bool)
		default:
			for word := range strings.SplitSeq(strings.ReplaceAll(cell, "`", ""), ", ") {
				if seen[word] {
					t.Errorf("docs/glossary.md explains %q twice in one table", word)
				}
				seen[word] = true
				*into = append(*into, strings.ToLower(word))
			}
		}
	}
	return words, units
}

// TestGlossary: each word is in the code, each unit is a metric's and vice versa.
func TestGlossary(t *testing.T) {
	words, units := glossary(t)
	if len(words) < 25 || len(units) < 25 {
		t.Fatalf("found %d words and %d units", len(words), len(units))
	}
	var code strings.Builder
	err := filepath.WalkDir("..", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "testdata" || d.Name() == "build") {
			return filepath.SkipDir
		}
		if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") {
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			// A comment may break a line between two words.
			code.WriteString(regexp.MustCompile(`\s*\n\s*// ?`).ReplaceAllString(strings.ToLower(string(text)), " "))
		}
		return nil
	})
	requireNoError(t, err)
	for _, w := range words {
		if !regexp.MustCompile(`\b` + regexp.QuoteMeta(w)).MatchString(code.String()) {
			t.Errorf("the glossary has %q, which no code says", w)
		}
	}
	var measured []string
	for _, m := range result.Metrics {
		measured = append(measured, m.Unit)
		if !slices.Contains(units, m.Unit) {
			t.Errorf("the glossary has no unit %s, of the metric %s: %s", m.Unit, m.Name, m.Doc)
		}
	}
	for _, u := range units {
		if !slices.Contains(measured, u) {
			t.Errorf("the glossary has the unit %s, which no metric has", u)
		}
	}
}

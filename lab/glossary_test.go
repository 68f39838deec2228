package lab

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
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
	if err != nil {
		t.Fatal(err)
	}
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

func TestAxesInGlossary(t *testing.T) {
	words, _ := glossary(t)
	titles := axisTitles(t)
	if len(titles) < 6 {
		t.Fatalf("found only the titles %q", titles)
	}
	t.Logf("the titles of axes: %q", titles)
	for _, title := range titles {
		if !slices.ContainsFunc(words, func(w string) bool { return strings.Contains(strings.ToLower(title), w) }) {
			t.Errorf("no word of docs/glossary.md is in the axis title %q: explain there what is on the axis", title)
		}
	}
}

// axisTitles returns the axis titles in the packages of reports: assigned to xTitle or yTitle,
// given to draw.Place, or returned by a function …Titles.
func axisTitles(t *testing.T) (titles []string) {
	t.Helper()
	files, err := filepath.Glob("../reports/*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	add := func(es ...ast.Expr) {
		for _, e := range es {
			titles = append(titles, literals(e)...)
		}
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		inTitles := false
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				inTitles = strings.HasSuffix(n.Name.Name, "Titles")
			case *ast.ReturnStmt:
				if inTitles {
					add(n.Results...)
				}
			case *ast.AssignStmt:
				for i, l := range n.Lhs {
					if isTitle(l) && len(n.Rhs) == len(n.Lhs) {
						add(n.Rhs[i])
					}
				}
			case *ast.KeyValueExpr:
				if isTitle(n.Key) {
					add(n.Value)
				}
			case *ast.CallExpr:
				if f, ok := n.Fun.(*ast.SelectorExpr); ok && f.Sel.Name == "Place" && len(n.Args) == 4 {
					add(n.Args[2:]...)
				}
			}
			return true
		})
	}
	return titles
}

func isTitle(e ast.Expr) bool {
	name := ""
	switch e := e.(type) {
	case *ast.Ident:
		name = e.Name
	case *ast.SelectorExpr:
		name = e.Sel.Name
	}
	return strings.EqualFold(name, "xTitle") || strings.EqualFold(name, "yTitle")
}

// literals returns the text in e that names a quantity, without parentheses, data and calls.
func literals(e ast.Expr) (texts []string) {
	ast.Inspect(e, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			text, err := strconv.Unquote(n.Value)
			text = regexp.MustCompile(`\([^)]*\)|%\w`).ReplaceAllString(text, "")
			if n.Kind == token.STRING && err == nil && regexp.MustCompile(`[a-z]{5}`).MatchString(text) {
				texts = append(texts, text)
			}
		case *ast.CallExpr:
			f, ok := n.Fun.(*ast.SelectorExpr)
			return ok && f.Sel.Name == "Sprintf"
		}
		return true
	})
	return texts
}

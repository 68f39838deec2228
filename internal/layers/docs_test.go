package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"locklab/internal/require"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestLibraryDocs: the documentation of a library has no dead link, and no word of the lab.
func TestLibraryDocs(t *testing.T) {
	foreign := regexp.MustCompile(`\b(?i:suites?|harness|lab)\b|\[([a-z]\w*\.)?[A-Z]\w*(\.\w+)?\]`)
	for _, library := range families {
		out, err := exec.Command("go", "doc", "-C", root, "-all", "./"+library).Output()
		requireNoError(t, err)
		for _, m := range foreign.FindAll(out[regexp.MustCompile(`\n`).FindIndex(out)[1]:], -1) {
			t.Errorf("the documentation of %s has %q", library, m)
		}
	}
	if !foreign.MatchString("see [Lost]") || !foreign.MatchString("the lab") {
		t.Error("the test cannot fail")
	}
}

// TestArchitecture: docs/architecture.md names functions and types in the files that
// declare them.
func TestArchitecture(t *testing.T) {
	text := readFile(t, "docs/architecture.md")
	links := regexp.MustCompile("\\[`([\\w.]+)`\\]\\((\\S+\\.go)\\)").FindAllStringSubmatch(text, -1)
	if len(links) < 30 {
		t.Errorf("it names %d functions and types only", len(links))
	}
	for _, m := range links {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "docs", m[2]), nil, 0)
		if err != nil {
			t.Error(err)
		} else if !declaresName(f, m[1]) {
			t.Errorf("%s declares no %s", m[2], m[1])
		}
	}
}

func declaresName(f *ast.File, name string) bool {
	if f.Scope.Lookup(name) != nil {
		return true
	}
	for _, d := range f.Decls {
		if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && typeName(fn.Recv.List[0].Type)+"."+fn.Name.Name == name {
			return true
		}
	}
	return false
}

// TestLinks: each link of a document leads to a file. make docs checks the headings.
func TestLinks(t *testing.T) {
	for _, pattern := range []string{"*.md", "contrib/*.md", "docs/*.md", "docs/decisions/*.md"} {
		names, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(names) == 0 {
			t.Errorf("no document is %s (%v)", pattern, err)
		}
		for _, name := range names {
			for _, link := range deadLinks(filepath.Dir(name), readFile(t, strings.TrimPrefix(name, root))) {
				t.Errorf("%s: no file is %s", name, link)
			}
		}
	}
	bad := "[x](../lab/nothere.go) ![x](gallery/nothere.png) [x](nothere.yml#x) <a href=\"nothere.html\"> <img src=\"x.png\">"
	if dead := deadLinks(root, bad); len(dead) != 5 {
		t.Errorf("of %s only %q are dead", bad, dead)
	}
}

func deadLinks(dir, text string) (dead []string) {
	for _, m := range regexp.MustCompile(`\]\(([^)\s]+)|(?:href|src)="([^"]+)`).FindAllStringSubmatch(text, -1) {
		file, _, _ := strings.Cut(m[1]+m[2], "#")
		if _, err := os.Stat(filepath.Join(dir, file)); err != nil && !strings.Contains(file, "://") {
			dead = append(dead, file)
		}
	}
	return dead
}

// TestModules: decision 5 names each module that go.mod requires directly, and no other.
func TestModules(t *testing.T) {
	mod := readFile(t, "go.mod")
	text := readFile(t, "docs/decisions/0005-dependencies.md")
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(mod, -1) {
		name := strings.TrimPrefix(regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], ""), "github.com/")
		if !strings.Contains(text, name) {
			t.Errorf("decision 5 has no line on %s", name)
		}
	}
}

var requireNoError = require.NoError

func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	requireNoError(t, err)
	return string(text)
}

func modulePath(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-C", root, "-m").Output()
	requireNoError(t, err)
	return strings.TrimSpace(string(out))
}

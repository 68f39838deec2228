package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"regexp"
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

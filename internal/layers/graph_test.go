package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestGraph(t *testing.T) {
	got := drawGraph(listing(t, 0))
	for name := range ranks {
		if strings.Count(got, ">"+name+"</text>") != 1 {
			t.Errorf("%s is not in the picture", name)
		}
	}
	file := filepath.Join(root, "docs", "architecture.svg")
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	kept, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(kept) != got {
		t.Error("docs/architecture.svg is out of date: make graph draws it")
	}
}

func TestGraphEdges(t *testing.T) {
	nodes := connect([]pkg{
		{rel: "atomics"},
		{rel: "harness"},
		{rel: "spinlock", imports: []string{"atomics", "harness"}},
		{rel: "harness/measure", imports: []string{"harness", "harness/result"}},
		{rel: "harness/result", imports: []string{"harness"}},
	})
	place(arrange(nodes))
	var edges []string
	for _, n := range nodes {
		for _, d := range n.to {
			edges = append(edges, n.name+" "+d.name)
			if n.y+boxHeight >= d.y {
				t.Errorf("%s, at %v, stands below %s, at %v", n.name, n.y, d.name, d.y)
			}
		}
	}
	const want = "harness/measure harness/result, harness/result harness, spinlock atomics, spinlock harness"
	if got := strings.Join(edges, ", "); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestArchitecture(t *testing.T) {
	dir := filepath.Join(root, "docs")
	text, err := os.ReadFile(filepath.Join(dir, "architecture.md"))
	if err != nil {
		t.Fatal(err)
	}
	n, err := checkLinks(dir, string(text))
	if err != nil {
		t.Error(err)
	}
	if n < 30 {
		t.Errorf("it names %d functions and types only", n)
	}
	_, err = checkLinks(dir, "[`Load`](../harness/result/load.go) [`Plan.Walk`](../harness/measure/plan.go) [`Gone`](../gone.go)")
	wantError(t, err, "../harness/measure/plan.go declares no Plan.Walk")
	wantError(t, err, "gone.go")
	if strings.Contains(err.Error(), "Load") {
		t.Errorf("rejects what is there: %v", err)
	}
}

func checkLinks(dir, text string) (n int, err error) {
	var errs []error
	for _, m := range regexp.MustCompile("\\[`([\\w.]+)`\\]\\((\\S+\\.go)\\)").FindAllStringSubmatch(text, -1) {
		n++
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(dir, m[2]), nil, parser.SkipObjectResolution)
		if err != nil {
			errs = append(errs, err)
		} else if !declares(f, m[1]) {
			errs = append(errs, fmt.Errorf("%s declares no %s", m[2], m[1]))
		}
	}
	return n, errors.Join(errs...)
}

func declares(f *ast.File, name string) bool {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if full := d.Name.Name; d.Recv == nil && full == name || d.Recv != nil && typeName(d.Recv.List[0].Type)+"."+full == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					if s.Name.Name == name {
						return true
					}
				case *ast.ValueSpec:
					for _, id := range s.Names {
						if id.Name == name {
							return true
						}
					}
				}
			}
		}
	}
	return false
}

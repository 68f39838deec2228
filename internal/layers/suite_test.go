package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"

	"locklab/harness"
)

// TestSuiteCompleteRejects: a lock that no variant uses and a source that no comment cites
// are named; a handle is no lock.
func TestSuiteCompleteRejects(t *testing.T) {
	file := func(text string) []*ast.File {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ParseComments)
		requireNoError(t, err)
		return []*ast.File{f}
	}
	library := file(`package p
// See Craig 1993.
type Queue struct{}
func (*Queue) Worker(int) *Handle { return nil }
type Handle struct{}
func (*Handle) Lock() {}
type Word struct{}
func (*Word) Lock() {}`)
	for _, c := range []struct{ lab, paper, want string }{
		{"package lab; var a, b = p.NewQueue(2), new(p.Word)", "Craig 1993", ""},
		{"package lab; var a = p.NewQueue(2)", "Craig 1993", "no variant in Suite uses the lock Word"},
		{"package lab; var a, b = p.NewQueue(2), new(p.Word)", "Scott 2013", `cite the source of x, "Scott 2013"`},
	} {
		lab := file(c.lab)
		var got []string
		for _, err := range []error{forgotten(library, lab), uncited(append(library, lab...), []*harness.Variant{{Name: "x", Paper: c.paper}})} {
			if err != nil {
				got = append(got, err.Error())
			}
		}
		if all := strings.Join(got, "\n"); len(got) != min(1, len(c.want)) || !strings.Contains(all, c.want) {
			t.Errorf("%s, %s: got %q, want %q", c.lab, c.paper, all, c.want)
		}
	}
}

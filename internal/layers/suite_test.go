package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"testing"
)

// TestSuiteCompleteRejects: a lock that no variant uses is named; a handle is no lock.
func TestSuiteCompleteRejects(t *testing.T) {
	file := func(text string) []*ast.File {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		requireNoError(t, err)
		return []*ast.File{f}
	}
	library := file(`package p
type Queue struct{}
func (*Queue) Worker(int) *Handle { return nil }
type Handle struct{}
func (*Handle) Lock() {}
type Word struct{}
func (*Word) Lock() {}`)
	if err := forgotten(library, file("package lab; var a, b = p.NewQueue(2), new(p.Word)")); err != nil {
		t.Error(err)
	}
	const want = "no variant in Suite uses the lock Word"
	if err := forgotten(library, file("package lab; var a = p.NewQueue(2)")); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
)

// TestWideStructs: the comment of a struct with more than 15 fields has the reason for them.
func TestWideStructs(t *testing.T) {
	const most = 15
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() && (d.Name() == "testdata" || d.Name() == "build" || d.Name() == ".git") {
			if d != nil && d.IsDir() && err == nil {
				return fs.SkipDir
			}
			return err
		}
		if filepath.Ext(path) != ".go" {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		for name, doc := range wideStructs(file, most) {
			if !strings.Contains(doc, "field") {
				t.Errorf("%s: type %s has more than %d fields, and its comment has no reason for them", path, name, most)
			}
		}
		return nil
	})
	requireNoError(t, err)
}

// wideStructs returns the comments of the structs of file with more than most fields, by name.
func wideStructs(file *ast.File, most int) map[string]string {
	out := make(map[string]string)
	for _, d := range file.Decls {
		decl, ok := d.(*ast.GenDecl)
		if !ok || decl.Tok != token.TYPE {
			continue
		}
		for _, s := range decl.Specs {
			spec := s.(*ast.TypeSpec)
			st, ok := spec.Type.(*ast.StructType)
			if ok && st.Fields.NumFields() > most {
				out[spec.Name.Name] = decl.Doc.Text() + spec.Doc.Text()
			}
		}
	}
	return out
}

func TestWideStructsFinds(t *testing.T) {
	file, err := parser.ParseFile(token.NewFileSet(), "", "package p\n// A wide one.\ntype wide struct{ a, b int; c int }\ntype slim struct{ a, b int }", parser.ParseComments)
	requireNoError(t, err)
	if found := wideStructs(file, 2); len(found) != 1 || found["wide"] != "A wide one.\n" {
		t.Errorf("found %q", found)
	}
}

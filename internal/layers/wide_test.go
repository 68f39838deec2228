package layers

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strings"
	"testing"
)

// TestWideStructs: the comment of a struct with more than 15 fields has the reason for them.
func TestWideStructs(t *testing.T) {
	for _, p := range listPackages(t, "") {
		paths, err := filepath.Glob(filepath.Join(root, p.ImportPath, "*.go"))
		requireNoError(t, err)
		for _, path := range paths {
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
			requireNoError(t, err)
			for name, doc := range wideStructs(file, 15) {
				if !strings.Contains(doc, "field") {
					t.Errorf("%s: type %s has more than 15 fields, and its comment has no reason for them", path, name)
				}
			}
		}
	}
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

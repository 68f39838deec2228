package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"locklab/harness"
)

// SuiteComplete fails tb if a file of the package in dir declares a harness.Variant that
// its Suite does not list, and names the line to add. It also fails if the file that
// implements a variant does not cite the source in its Paper. In the lab of a library in
// the parent folder, it also fails if Suite lacks a variant of one of the library's
// locks, and prints the entry to add.
func SuiteComplete(tb testing.TB, dir string, suite []*harness.Variant) {
	tb.Helper()
	if err := suiteComplete(dir, suite); err != nil {
		tb.Error(err)
	}
}

func suiteComplete(dir string, suite []*harness.Variant) error {
	files, err := parseDir(dir)
	if err != nil {
		return err
	}
	var library []source
	if files[0].file.Name.Name == "lab" {
		if library, err = parseDir(filepath.Join(dir, "..")); err != nil {
			return err
		}
	}
	return errors.Join(unlisted(files, suite), unsuited(library, files), uncited(files, library, suite))
}

type source struct {
	name string
	file *ast.File
}

func parseDir(dir string) ([]source, error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return nil, err
	}
	var files []source
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, source{filepath.Base(name), f})
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	return files, nil
}

// unlisted finds variants that Suite does not list: package variables by their name, and
// literals anywhere by the variant's name.
func unlisted(files []source, suite []*harness.Variant) error {
	var errs []error
	makers := variantMakers(files)
	listed, found := listedIn(files)
	if !found {
		return errors.New("the package has no variable Suite")
	}
	for _, src := range files {
		for name, value := range packageVars(src.file) {
			if name != "Suite" && isVariant(value, makers) && !listed[name] {
				errs = append(errs, fmt.Errorf("%s declares the variant %s, but Suite does not list it; add this line to Suite:\n\t%s,", src.name, name, name))
			}
		}
		ast.Inspect(src.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.CompositeLit)
			if !ok || !isVariantType(lit.Type) {
				return true
			}
			if name, ok := stringField(lit, "Name"); ok && !slices.ContainsFunc(suite, func(v *harness.Variant) bool { return v.Name == name }) {
				errs = append(errs, fmt.Errorf("%s has a variant named %q that is not in Suite", src.name, name))
			}
			return true
		})
	}
	return errors.Join(errs...)
}

func packageVars(f *ast.File) map[string]ast.Expr {
	vars := make(map[string]ast.Expr)
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.VAR {
			continue
		}
		for _, s := range g.Specs {
			spec := s.(*ast.ValueSpec)
			for i, value := range spec.Values {
				vars[spec.Names[i].Name] = value
			}
		}
	}
	return vars
}

func listedIn(files []source) (listed map[string]bool, found bool) {
	listed = make(map[string]bool)
	for _, src := range files {
		suite, ok := packageVars(src.file)["Suite"]
		if !ok {
			continue
		}
		found = true
		ast.Inspect(suite, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				listed[id.Name] = true
			}
			return true
		})
	}
	return listed, found
}

func variantMakers(files []source) map[string]bool {
	makers := make(map[string]bool)
	for _, src := range files {
		for _, d := range src.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && fn.Type.Results != nil && len(fn.Type.Results.List) == 1 {
				if star, ok := fn.Type.Results.List[0].Type.(*ast.StarExpr); ok && isVariantType(star.X) {
					makers[fn.Name.Name] = true
				}
			}
		}
	}
	return makers
}

func isVariant(e ast.Expr, makers map[string]bool) bool {
	switch e := e.(type) {
	case *ast.UnaryExpr:
		lit, ok := e.X.(*ast.CompositeLit)
		return ok && isVariantType(lit.Type)
	case *ast.CallExpr:
		id, ok := e.Fun.(*ast.Ident)
		return ok && makers[id.Name]
	}
	return false
}

func isVariantType(e ast.Expr) bool {
	sel, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := sel.X.(*ast.Ident)
	return ok && x.Name == "harness" && sel.Sel.Name == "Variant"
}

func stringField(lit *ast.CompositeLit, field string) (string, bool) {
	for _, e := range lit.Elts {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			continue
		}
		if key, ok := kv.Key.(*ast.Ident); ok && key.Name == field {
			return stringValue(kv.Value)
		}
	}
	return "", false
}

func stringValue(e ast.Node) (string, bool) {
	lit, ok := e.(*ast.BasicLit)
	if !ok || lit.Kind != token.STRING {
		return "", false
	}
	s, err := strconv.Unquote(lit.Value)
	return s, err == nil
}

// uncited finds variants whose Paper does not occur in the comments of the implementing
// file: the file that names them, or the library's files of their locks. Only words
// matter, not order and punctuation.
func uncited(files, library []source, suite []*harness.Variant) error {
	var errs []error
	for _, v := range suite {
		i := slices.IndexFunc(files, func(src source) bool { return names(src.file, v.Name) })
		if i < 0 {
			errs = append(errs, fmt.Errorf("no file contains the name %q: write it out where the lock is, so that readers find it", v.Name))
			continue
		}
		where := implementing(files, library, files[i], v.Name)
		if missing := missingWords(v.Paper, where); len(missing) > 0 {
			errs = append(errs, fmt.Errorf("%s does not cite the source of %q, %q: its comments lack %s", where[0].name, v.Name, v.Paper, strings.Join(missing, ", ")))
		}
	}
	return errors.Join(errs...)
}

func names(f *ast.File, name string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		if s, ok := stringValue(n); ok && s == name {
			found = true
		}
		return !found
	})
	return found
}

func missingWords(paper string, files []source) []string {
	var comments strings.Builder
	for _, src := range files {
		for _, c := range src.file.Comments {
			comments.WriteString(strings.ToLower(c.Text()))
		}
	}
	text := strings.Join(strings.Fields(comments.String()), " ")
	return slices.DeleteFunc(strings.FieldsFunc(paper, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.'
	}), func(word string) bool {
		return len([]rune(word)) < 3 || strings.Contains(text, strings.ToLower(word))
	})
}

package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"

	"locklab/harness"
	"locklab/internal/waiting"
)

// SuiteComplete fails tb if the lab package in dir does not use an exported lock of the
// library in the parent folder, or if the comments of both cite the source of a variant
// of suite nowhere. (Variants that suite does not list are unused, which staticcheck
// reports.)
func SuiteComplete(tb testing.TB, dir string, suite []*harness.Variant) {
	tb.Helper()
	files, err := parse(dir)
	if err != nil {
		tb.Fatal(err)
	}
	var library []*ast.File
	if files[0].Name.Name == "lab" {
		if library, err = parse(filepath.Join(dir, "..")); err != nil {
			tb.Fatal(err)
		}
	}
	if err := errors.Join(forgotten(library, files), uncited(append(library, files...), suite)); err != nil {
		tb.Error(err)
	}
}

// OptionsComplete fails tb unless options returns the libraries' wait policies and pins, in
// their order, for the harness's.
func OptionsComplete(tb testing.TB, options func(harness.Setup) (waiting.Policy, waiting.Pin)) {
	tb.Helper()
	var policies []waiting.Policy
	for _, p := range harness.WaitPolicies {
		policy, _ := options(harness.Setup{Wait: p})
		policies = append(policies, policy)
	}
	var pins []waiting.Pin
	for _, p := range harness.Pins {
		_, pin := options(harness.Setup{Pin: p})
		pins = append(pins, pin)
	}
	if !slices.Equal(policies, waiting.Policies) || !slices.Equal(pins, waiting.Pins) {
		tb.Errorf("wait policies %q and pins %q, the libraries have %q and %q", policies, pins, waiting.Policies, waiting.Pins)
	}
}

func parse(dir string) (files []*ast.File, err error) {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no Go files in %s", dir)
	}
	return files, err
}

// forgotten names the exported types of the library that have a method Worker or Lock and
// that no file of its lab mentions. A type that a method of another lock returns is its
// handle.
func forgotten(library, lab []*ast.File) error {
	locks, makers := make(map[string]bool), make(map[string]string) // makers of the results of methods
	for _, f := range library {
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil {
				continue
			}
			of := typeName(fn.Recv.List[0].Type)
			if ast.IsExported(of) && (fn.Name.Name == "Worker" || fn.Name.Name == "Lock") {
				locks[of] = true
			}
			if fn.Type.Results != nil {
				makers[typeName(fn.Type.Results.List[0].Type)] = of
			}
		}
	}
	unused := maps.Clone(locks)
	for _, f := range lab {
		ast.Inspect(f, func(n ast.Node) bool {
			if sel, ok := n.(*ast.SelectorExpr); ok {
				delete(unused, strings.TrimPrefix(sel.Sel.Name, "New"))
			}
			return true
		})
	}
	var errs []error
	for name := range unused {
		if of := makers[name]; !locks[of] || of == name {
			errs = append(errs, fmt.Errorf("no variant in Suite uses the lock %s", name))
		}
	}
	return errors.Join(errs...)
}

func typeName(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if id, ok := e.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

// uncited names the variants whose Paper has words that no single file has in its comments.
func uncited(files []*ast.File, suite []*harness.Variant) error {
	var errs []error
	for _, v := range suite {
		words := strings.FieldsFunc(v.Paper, func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '-' && r != '.' })
		if !slices.ContainsFunc(files, func(f *ast.File) bool { return cites(f, words) }) {
			errs = append(errs, fmt.Errorf("the comments of no file cite the source of %s, %q", v.Name, v.Paper))
		}
	}
	return errors.Join(errs...)
}

func cites(f *ast.File, words []string) bool {
	var text strings.Builder
	for _, c := range f.Comments {
		text.WriteString(strings.ToLower(c.Text()))
	}
	return !slices.ContainsFunc(words, func(w string) bool { return len([]rune(w)) > 2 && !strings.Contains(text.String(), strings.ToLower(w)) })
}

package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
)

// starters are the names of methods that start a goroutine, or let tests run in parallel:
// of sync.WaitGroup, errgroup.Group, testing.T and time.
var starters = map[string]bool{"Go": true, "TryGo": true, "Parallel": true, "RunParallel": true, "AfterFunc": true}

// single returns an error for each place in the files of dir, tests included, that starts
// a goroutine: a package without one has no data race of its own.
func single(dir string) error {
	names, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil {
		return err
	}
	if len(names) == 0 {
		return fmt.Errorf("no Go files in %s", dir)
	}
	var errs []error
	for _, name := range names {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, name, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		ast.Inspect(f, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if ok {
				var method *ast.SelectorExpr
				method, ok = call.Fun.(*ast.SelectorExpr)
				ok = ok && starters[method.Sel.Name]
			}
			if _, statement := n.(*ast.GoStmt); ok || statement {
				errs = append(errs, fmt.Errorf("%s starts a goroutine", files.Position(n.Pos())))
			}
			return true
		})
	}
	return errors.Join(errs...)
}

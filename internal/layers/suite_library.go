package layers

import (
	"errors"
	"fmt"
	"go/ast"
	"slices"
	"strings"
)

type lockType struct {
	name    string
	src     source // declares the type
	made    bool   // has a constructor called New and its name
	maker   string // the type with a method of the lock's name that makes it, such as Client; or ""
	workers bool   // has handles, from a method Worker
}

// lockTypes returns the exported types of the library's files that are locks: types with
// a method Worker, types with a method Lock that are not handles, and types that a client
// makes.
func lockTypes(library []source) []lockType {
	var types []lockType
	handles, made := make(map[string]bool), make(map[string]bool)
	for _, src := range library {
		for _, d := range src.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() {
				continue
			}
			if fn.Recv == nil {
				made[strings.TrimPrefix(fn.Name.Name, "New")] = true
				continue
			}
			recv, method := typeName(fn.Recv.List[0].Type), fn.Name.Name
			if method == "Worker" && fn.Type.Results != nil {
				handles[typeName(fn.Type.Results.List[0].Type)] = true
			}
			if ast.IsExported(recv) && (method == "Worker" || method == "Lock") {
				types = append(types, lockType{name: recv, src: src, workers: method == "Worker"})
			}
		}
	}
	types = slices.DeleteFunc(types, func(t lockType) bool { return handles[t.name] })
	for i := range types {
		types[i].made = made[types[i].name]
	}
	return byClients(types, library)
}

// byClients returns types plus the exported types that a method of their name makes, and
// minus the results of another lock's methods: these are its handles.
func byClients(types []lockType, library []source) []lockType {
	for _, src := range library {
		for _, d := range src.file.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok || fn.Recv == nil || !fn.Name.IsExported() || fn.Type.Results == nil {
				continue
			}
			name, maker := typeName(fn.Type.Results.List[0].Type), typeName(fn.Recv.List[0].Type)
			i := slices.IndexFunc(types, func(t lockType) bool { return t.name == name })
			switch ofLock := slices.ContainsFunc(types, func(t lockType) bool { return t.name == maker }); {
			case ofLock && i >= 0 && name != maker:
				types = slices.Delete(types, i, i+1)
			case ofLock || name != fn.Name.Name:
			case i >= 0:
				types[i].maker = maker
			default: // its method Lock belongs to an embedded type
				types = append(types, lockType{name: name, src: src, maker: maker})
			}
		}
	}
	return types
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

func unsuited(library, files []source) error {
	if len(library) == 0 {
		return nil
	}
	var errs []error
	for _, t := range lockTypes(library) {
		if !slices.ContainsFunc(files, func(src source) bool { return makes(src.file, library, t) }) {
			errs = append(errs, fmt.Errorf("%s declares the lock %s, but Suite of its lab has no variant of it; add this to Suite in lab/suite.go:\n%s",
				t.src.name, t.name, t.entry()))
		}
	}
	return errors.Join(errs...)
}

// makes reports whether n names the lock or its constructor, or calls the method that
// makes it.
func makes(n ast.Node, library []source, t lockType) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if t.maker != "" {
			if call, ok := n.(*ast.CallExpr); ok {
				sel, ok := call.Fun.(*ast.SelectorExpr)
				found = found || ok && sel.Sel.Name == t.name
			}
			return !found
		}
		if sel, ok := n.(*ast.SelectorExpr); ok && typeName(sel.X) == library[0].file.Name.Name {
			found = found || sel.Sel.Name == t.name || sel.Sel.Name == "New"+t.name
		}
		return !found
	})
	return found
}

func (t lockType) entry() string {
	pkg := t.src.file.Name.Name
	family, lock := "Blocking", fmt.Sprintf("harness.Shared(new(%s.%s))", pkg, t.name)
	if pkg == "spinlock" {
		family = "Spin"
	}
	if t.made {
		lock = fmt.Sprintf("harness.Shared(%s.New%s(s.Workers, options(s)))", pkg, t.name)
	}
	if t.workers {
		lock = strings.Replace(lock, "harness.Shared", "harness.Handles", 1)
	}
	name := strings.ReplaceAll(strings.TrimSuffix(t.src.name, ".go"), "_", "-")
	if t.maker != "" {
		return t.remoteEntry(name)
	}
	return fmt.Sprintf(`	{
		Name: %q, Doc: "what it is", Paper: "who wrote of it, and the year",
		Family: harness.%s, Status: harness.Reference,
		Local: func(s harness.Setup) harness.Local { return %s },
	},`, name, family, lock)
}

func (t lockType) remoteEntry(name string) string {
	pkg := t.src.file.Name.Name
	short, family := strings.TrimSuffix(pkg, "lock"), "Redis"
	if short == "zk" {
		family = "ZooKeeper"
	}
	return fmt.Sprintf(`	{
		Name: %q, Doc: "what it is", Paper: "who wrote of it, and the year",
		Family: harness.%s, Status: harness.Reference,
		Traits: harness.Traits{Needs: harness.Kind%[2]s},
		Remote: remote(func(c *%s.%s, name string, o %[3]s.Options) locker { return c.%[5]s(name, o) }),
	},`, short+"-"+name, family, pkg, t.maker, t.name)
}

// implementing returns the files that implement a variant named in home: the library
// files of the locks that its literal makes, directly or through a function of the lab,
// or else home. A variant outside the file of Suite is implemented there.
func implementing(files, library []source, home source, name string) []source {
	var where []source
	lit := variantLiteral(home.file, name)
	_, listed := packageVars(home.file)["Suite"]
	if lit == nil || len(library) == 0 || !listed {
		return []source{home}
	}
	parts := []ast.Node{lit}
	for _, src := range files {
		for _, d := range src.file.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv == nil && uses(lit, fn.Name.Name) {
				parts = append(parts, fn)
			}
		}
	}
	for _, t := range lockTypes(library) {
		if slices.ContainsFunc(parts, func(n ast.Node) bool { return makes(n, library, t) }) {
			where = append(where, t.src)
		}
	}
	if len(where) == 0 {
		return []source{home}
	}
	return where
}

func variantLiteral(f *ast.File, name string) (found *ast.CompositeLit) {
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.CompositeLit); ok {
			if s, ok := stringField(lit, "Name"); ok && s == name {
				found = lit
			}
		}
		return found == nil
	})
	return found
}

func uses(n ast.Node, name string) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok && id.Name == name {
			found = true
		}
		return !found
	})
	return found
}

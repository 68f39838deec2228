package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

type pkg struct {
	rel     string   // path relative to the module
	dir     string   // directory of its files
	imports []string // imported packages of this module, relative; without tests
	own     []string // the same, with internal tests
	foreign []string // imported packages of other modules; with internal tests
	modules []string // modules of all imports; with external tests
	deps    []string // all dependencies, direct or not, without tests; relative in this module
	std     []string // dependencies in the standard library
}

type build struct {
	tags string
	env  []string
}

var builds = []build{
	{},
	{tags: "purego"},
	{tags: "systematic"},
	{tags: "race"},
	{env: []string{"GOOS=darwin", "GOARCH=arm64", "CGO_ENABLED=0"}},
	{env: []string{"GOOS=linux", "GOARCH=riscv64", "CGO_ENABLED=0"}},
}

type listed struct {
	ImportPath, Dir, ForTest string
	DepOnly, Standard        bool
	Deps                     []string
	Imports, TestImports     []string
	XTestImports             []string
	Module                   *struct{ Path string }
	Error                    *struct{ Err string }
}

// list returns the packages of the module in dir in one build. It fails if a package does
// not load, unless that build has no files of it.
func list(dir string, b build) ([]pkg, error) {
	if err := touch(dir); err != nil {
		return nil, err
	}
	module, err := goList(dir, b, "-m", "-f", "{{.Path}}")
	if err != nil {
		return nil, err
	}
	out, err := goList(dir, b, "-deps", "-test", "-e", "-tags="+b.tags,
		"-json=ImportPath,Dir,ForTest,DepOnly,Standard,Deps,Imports,TestImports,XTestImports,Module,Error", "./...")
	if err != nil {
		return nil, err
	}
	var all []listed
	moduleOf := make(map[string]string)
	standard := make(map[string]bool)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var l listed
		if err := dec.Decode(&l); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		all = append(all, l)
		if l.Module != nil {
			moduleOf[l.ImportPath] = l.Module.Path
		}
		standard[l.ImportPath] = l.Standard
	}
	pkgs, err := digest(all, moduleOf, strings.TrimSpace(string(module)))
	for i := range pkgs {
		p := &pkgs[i]
		p.deps, p.std = split(p.deps, standard, strings.TrimSpace(string(module)))
	}
	return pkgs, err
}

func digest(all []listed, moduleOf map[string]string, module string) ([]pkg, error) {
	var pkgs []pkg
	var errs []error
	for _, l := range all {
		rel, ok := strings.CutPrefix(l.ImportPath, module+"/")
		if !ok || l.DepOnly || l.ForTest != "" || strings.HasSuffix(l.ImportPath, ".test") {
			continue
		}
		if l.Error != nil {
			if !strings.Contains(l.Error.Err, "build constraints exclude all Go files") {
				errs = append(errs, errors.New(l.Error.Err))
			}
			continue
		}
		p := pkg{rel: rel, dir: l.Dir, deps: l.Deps}
		for _, imp := range l.Imports {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok {
				p.imports = append(p.imports, own)
			}
		}
		inside := slices.Concat(l.Imports, l.TestImports)
		for _, imp := range inside {
			if own, ok := strings.CutPrefix(imp, module+"/"); ok {
				p.own = append(p.own, own)
			} else if moduleOf[imp] != "" {
				p.foreign = append(p.foreign, imp)
			}
		}
		for _, imp := range slices.Concat(inside, l.XTestImports) {
			if m := moduleOf[imp]; m != "" && m != module {
				p.modules = append(p.modules, m)
			}
		}
		pkgs = append(pkgs, p)
	}
	return pkgs, errors.Join(errs...)
}

func split(deps []string, standard map[string]bool, module string) (others, std []string) {
	for _, d := range deps {
		if standard[d] {
			std = append(std, d)
		} else {
			others = append(others, strings.TrimPrefix(d, module+"/"))
		}
	}
	slices.Sort(others)
	return others, std
}

// touch stats every source file below dir. The go command reuses the result of a test
// until a file changes that the test process itself has accessed, and go list is another
// process.
func touch(dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && strings.HasPrefix(d.Name(), ".") && path != dir {
			return fs.SkipDir
		}
		if ext := filepath.Ext(path); ext == ".go" || ext == ".mod" {
			_, err = os.Stat(path)
		}
		if errors.Is(err, fs.ErrNotExist) {
			return nil // an editor is at work
		}
		return err
	})
}

func goList(dir string, b build, args ...string) ([]byte, error) {
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), b.env...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return out, nil
}

package layers

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ranks is the layering: a package imports only packages of a lower rank. Paths are
// relative to the module.
var ranks = map[string]int{
	"atomics":            0,
	"harness":            0,
	"harness/stat":       0,
	"cmd/mutants":        0,
	"cmd/setmodule":      0,
	"cmd/testcount":      0,
	"internal/numfmt":    0,
	"internal/nearest":   0,
	"internal/boottime":  0,
	"internal/child":     0,
	"internal/zksession": 0,
	"deploy":             0,
	"deploy/extract":     0,

	"hardware/evidence":       1,
	"harness/recorder":        1,
	"harness/oracle":          1,
	"internal/adapt":          1,
	"internal/machine":        1,
	"internal/backend":        1,
	"internal/faultproxy":     1,
	"internal/wire/redis":     1,
	"internal/wire/zookeeper": 1,
	"lock":                    1,
	"zklock/internal/recipe":  1,
	"internal/layers":         1,
	"internal/explore":        1,
	"internal/twin":           1,
	"internal/waiting":        1,
	"internal/qemu":           1,
	"internal/leaktest":       1,

	"hardware":         2,
	"harness/metric":   2,
	"harness/survival": 2,
	"harness/locktest": 2,
	"harness/linear":   2,
	"harness/causal":   2,
	"harness/ranks":    2,
	"harness/simulate": 2,
	"spinlock":         2,
	"mutex":            2,
	"zklock":           2,
	"redislock":        2,
	"peers":            2,

	"harness/resultfile":        3,
	"harness/predict":           3,
	"harness/simulate/validate": 3,
	"spinlock/lab":              3,
	"mutex/lab":                 3,
	"zklock/lab":                3,
	"redislock/lab":             3,

	"harness/runner":           4,
	"harness/compare":          4,
	"harness/merge":            4,
	"internal/synthetic":       4,
	"harness/simulate/offload": 4,

	"harness/chaos":       5,
	"harness/lockbench":   5,
	"harness/verdict":     5,
	"cmd/locklab/catalog": 5,

	"reports": 6,

	"lab": 7,

	"cmd/locklab": 8,
}

// A ban is an import that ranks would allow. It covers indirect imports.
type ban struct {
	from string
	to   []string
	why  string

	tested bool // its tests may import the banned packages
}

var locks = []string{"spinlock", "spinlock/lab", "mutex", "mutex/lab", "zklock", "zklock/lab", "redislock", "redislock/lab", "peers"}

var bans = []ban{
	{from: "reports", to: locks, why: "a report is drawn from a file, which must still draw after its locks are gone"},
	{from: "harness/resultfile", to: locks, why: "a file must be readable after its locks are gone"},
	{from: "harness/verdict", to: locks, why: "a run must be judged after its locks are gone"},
	{from: "harness/compare", to: locks, why: "runs must be comparable after their locks are gone"},
	{from: "harness/survival", to: locks, why: "results must be judged after their locks are gone"},
	{from: "harness/chaos", to: locks, why: "a program outside this module brings its own lock", tested: true},
	{from: "harness/linear", to: locks, why: "the judge must not know the parties"},
	{from: "harness/locktest", to: locks, why: "the judge must not know the parties"},
	{from: "harness/lockbench", to: locks, why: "a module outside this one brings its own lock", tested: true},
	{from: "lab", to: append([]string{"cmd/locklab/catalog"}, locks...), why: "a program outside this module brings its own locks", tested: true},
}

var standardOnly = []string{"harness", "cmd/mutants", "cmd/setmodule", "cmd/testcount", "deploy/extract"}

func checkRanks(pkgs []pkg) error {
	var errs []error
	for _, p := range pkgs {
		rank, ok := ranks[p.rel]
		if !ok {
			errs = append(errs, fmt.Errorf("package %s has no rank: place it in the table in internal/layers/ranks.go", p.rel))
			continue
		}
		for _, imp := range p.own {
			if r, ok := ranks[imp]; ok && r >= rank {
				errs = append(errs, fmt.Errorf("%s (rank %d) imports %s (rank %d): a package imports only lower ranks", p.rel, rank, imp, r))
			}
		}
		if len(p.foreign) > 0 && slices.Contains(standardOnly, p.rel) {
			errs = append(errs, fmt.Errorf("%s imports %s: it may import the standard library and this module only", p.rel, strings.Join(p.foreign, ", ")))
		}
	}
	return errors.Join(append(errs, checkBans(pkgs))...)
}

func checkBans(pkgs []pkg) error {
	var errs []error
	for _, b := range bans {
		for path := range reach(pkgs, b.from, b.tested) {
			if slices.Contains(b.to, path) {
				errs = append(errs, fmt.Errorf("%s depends on %s: %s", b.from, path, b.why))
			}
		}
	}
	return errors.Join(errs...)
}

// reach returns the packages of this module that from imports, directly or not. Unless
// programs is set, it includes imports of internal tests.
func reach(pkgs []pkg, from string, programs bool) map[string]bool {
	seen := make(map[string]bool)
	var visit func(string)
	visit = func(path string) {
		for _, p := range pkgs {
			if p.rel != path {
				continue
			}
			imports := p.own
			if programs {
				imports = p.imports
			}
			for _, imp := range imports {
				if !seen[imp] {
					seen[imp] = true
					visit(imp)
				}
			}
		}
	}
	visit(from)
	return seen
}

// checkDocs returns an error for each package whose doc.go lacks its rank. A library's
// doc.go must not contain it: see checkGodoc.
func checkDocs(pkgs []pkg) error {
	var errs []error
	for _, p := range pkgs {
		rank, ok := ranks[p.rel]
		if !ok {
			continue // checkRanks reports it
		}
		text, err := os.ReadFile(filepath.Join(p.dir, "doc.go"))
		want := fmt.Sprintf("Rank %d.", rank)
		switch {
		case err != nil:
			errs = append(errs, fmt.Errorf("%s has no doc.go, which says what the package is and %q", p.rel, want))
		case isLibrary(p.rel):
		case !strings.Contains(string(text), want):
			errs = append(errs, fmt.Errorf("%s/doc.go does not contain %q", p.rel, want))
		}
	}
	return errors.Join(errs...)
}

func checkModules(pkgs []pkg, accepted string) error {
	want := strings.Fields(accepted)
	got := modules(pkgs)
	var errs []error
	for _, m := range got {
		if !slices.Contains(want, m) {
			errs = append(errs, fmt.Errorf("new dependency %s: if it is wanted, say why in docs/decisions and accept it by\n\tgo test ./internal/layers -run TestModules -update", m))
		}
	}
	for _, m := range want {
		if !slices.Contains(got, m) {
			errs = append(errs, fmt.Errorf("dependency %s is not used any more: drop it by\n\tgo test ./internal/layers -run TestModules -update", m))
		}
	}
	return errors.Join(errs...)
}

func modules(pkgs []pkg) []string {
	set := make(map[string]bool)
	for _, p := range pkgs {
		for _, m := range p.modules {
			set[m] = true
		}
	}
	return slices.Sorted(maps.Keys(set))
}

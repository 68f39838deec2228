package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const root = "../.."

// A rule names packages that others must not depend on, directly or not. A name that ends
// with a slash stands for all packages below it.
type rule struct {
	from, never []string
	why         string
}

var (
	families = []string{"spinlock", "mutex", "zklock", "redislock"}
	locks    = []string{"spinlock", "spinlock/", "mutex", "mutex/", "zklock", "zklock/", "redislock", "redislock/", "peers", "cmd/"}
	rules    = []rule{
		{families, []string{"harness", "harness/", "lab", "reports/", "internal/backend", "internal/machine"}, "a program that uses a library would link the lab"},
		{[]string{"spinlock", "mutex"}, []string{"net", "crypto/tls", "regexp"}, "a local lock needs none of it"},
		{[]string{"redislock"}, []string{"github.com/go-zookeeper/zk", "internal/zksession"}, "it speaks to Redis only"},
		{[]string{"zklock"}, []string{"github.com/redis/go-redis/v9"}, "it speaks to ZooKeeper only"},
		{[]string{"harness"}, []string{"net/http", "golang.org/x/sys/unix", "internal/machine", "internal/backend", "internal/stat", "internal/numfmt"}, "the contract needs the standard library and lock only"},
		{[]string{"harness/result", "harness/judge", "reports/"}, append([]string{"harness/measure", "harness/chaos", "harness/locktest", "internal/backend"}, locks...), "a file is read, judged and drawn after its locks are gone"},
		{[]string{"harness/", "hardware", "lab"}, locks, "other modules bring their own locks"},
		{[]string{"harness/", "hardware", "internal/"}, []string{"lab", "reports/"}, "measuring does not know the page"},
	}
)

type listed struct {
	ImportPath string
	Deps       []string
}

// listPackages returns the packages of the module with their dependencies, both relative to the
// module in it, without tests.
func listPackages(t *testing.T, tags string) (pkgs []listed) {
	t.Helper()
	module := modulePath(t)
	out, err := exec.Command("go", "list", "-C", root, "-tags="+tags, "-json=ImportPath,Deps", "./...").Output()
	requireNoError(t, err)
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return pkgs
		} else if err != nil {
			t.Fatal(err)
		}
		p.ImportPath = strings.TrimPrefix(p.ImportPath, module+"/")
		for i := range p.Deps {
			p.Deps[i] = strings.TrimPrefix(p.Deps[i], module+"/")
		}
		pkgs = append(pkgs, p)
	}
}

func containsPath(names []string, path string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n == path || strings.HasSuffix(n, "/") && strings.HasPrefix(path, n)
	})
}

// rowRules returns a rule for each package of the table of rows in text: it must not depend on
// another package of its row or of a row below.
func rowRules(text string) (out []rule) {
	_, table, _ := strings.Cut(text, "\n| Packages, lowest first |\n|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	var below []string
	for _, row := range slices.Backward(strings.Split(table, "\n")) {
		names := strings.Split(row, "`")
		for i := 1; i < len(names); i += 2 {
			below = append(below, names[i])
		}
		for i := 1; i < len(names); i += 2 {
			others := slices.DeleteFunc(slices.Clone(below), func(n string) bool { return n == names[i] })
			out = append(out, rule{[]string{names[i]}, others, "it is not in a row above (CONTRIBUTING.md)"})
		}
	}
	return out
}

// checkRules returns an error for each dependency that a rule forbids, and for each name of a
// rule that is no package.
func checkRules(rules []rule, pkgs []listed) error {
	var errs []error
	for _, r := range rules {
		for _, name := range r.from {
			if !slices.ContainsFunc(pkgs, func(p listed) bool { return containsPath([]string{name}, p.ImportPath) }) {
				errs = append(errs, fmt.Errorf("no package is %s", name))
			}
		}
		for _, p := range pkgs {
			if !containsPath(r.from, p.ImportPath) {
				continue
			}
			for _, d := range p.Deps {
				if containsPath(r.never, d) {
					errs = append(errs, fmt.Errorf("%s depends on %s: %s", p.ImportPath, d, r.why))
				}
			}
		}
	}
	return errors.Join(errs...)
}

func TestRules(t *testing.T) {
	rows := rowRules(readFile(t, "CONTRIBUTING.md"))
	for _, tags := range []string{"", "purego", "systematic"} {
		pkgs := listPackages(t, tags)
		if err := checkRules(append(rows, rules...), pkgs); err != nil {
			t.Errorf("tags %q: %v", tags, err)
		}
		for _, p := range pkgs {
			inRow := func(r rule) bool { return r.from[0] == p.ImportPath }
			if !containsPath([]string{"internal/", "cmd/", "deploy", "zklock/internal/"}, p.ImportPath) && !slices.ContainsFunc(rows, inRow) {
				t.Errorf("CONTRIBUTING.md has no row with %s", p.ImportPath)
			}
		}
	}
}

func TestRulesReject(t *testing.T) {
	pkgs := []listed{{"zklock", []string{"net", "harness/result"}}, {"lab", []string{"mutex/lab"}}, {"hardware", []string{"lablike"}}}
	err := fmt.Sprint(checkRules(rules, pkgs))
	if strings.Count(err, " depends on ") != 2 || !strings.Contains(err, "zklock depends on harness/result") || !strings.Contains(err, "lab depends on mutex/lab") {
		t.Errorf("of rules: got %s", err)
	}
	rows := rowRules("\n| Packages, lowest first |\n|---|\n| `zklock` and `mutex`. |\n| `lab` |\n\n`more`")
	pkgs = []listed{{"zklock", []string{"lab"}}, {"mutex", []string{"zklock"}}, {"lab", []string{"mutex", "zklock"}}}
	err = fmt.Sprint(checkRules(rows, pkgs))
	if strings.Count(err, "\n") != 1 || !strings.Contains(err, "zklock depends on lab") || !strings.Contains(err, "mutex depends on zklock") {
		t.Errorf("of rows: got %s", err)
	}
	if checkRules([]rule{{[]string{"lab", "gone"}, nil, ""}}, pkgs) == nil {
		t.Error("a name that is no package is accepted")
	}
}

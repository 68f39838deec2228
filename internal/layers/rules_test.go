package layers

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"locklab/internal/require"
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
		{[]string{"reports/draw"}, []string{"reports/chart", "reports/page", "harness/judge"}, "it draws what it is given"},
		{[]string{"reports/chart"}, []string{"reports/page"}, "a chart does not know its page"},
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

var requireNoError = require.NoError

// readFile returns the text of a file of the repository.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	requireNoError(t, err)
	return string(text)
}

func modulePath(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("go", "list", "-C", root, "-m").Output()
	requireNoError(t, err)
	return strings.TrimSpace(string(out))
}

func containsPath(names []string, path string) bool {
	return slices.ContainsFunc(names, func(n string) bool {
		return n == path || strings.HasSuffix(n, "/") && strings.HasPrefix(path, n)
	})
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
	for _, tags := range []string{"", "purego", "systematic"} {
		if err := checkRules(rules, listPackages(t, tags)); err != nil {
			t.Errorf("tags %q: %v", tags, err)
		}
	}
}

func TestRulesReject(t *testing.T) {
	pkgs := []listed{{"zklock", []string{"net", "harness/result"}}, {"lab", []string{"mutex/lab"}}, {"reports/draw", []string{"lablike"}}}
	err := fmt.Sprint(checkRules(rules, pkgs))
	for _, want := range []string{"zklock depends on harness/result", "lab depends on mutex/lab"} {
		if strings.Count(err, want) != 1 || strings.Count(err, " depends on ") != 2 {
			t.Errorf("got %v, want %q and one more", err, want)
		}
	}
	if err := checkRules([]rule{{[]string{"reports/"}, []string{"lab"}, ""}}, pkgs); err != nil {
		t.Error(err)
	}
	if checkRules([]rule{{[]string{"lab", "gone"}, nil, ""}}, pkgs) == nil {
		t.Error("a name that is no package is accepted")
	}
}

// TestModules: decision 5 names each module that go.mod requires directly, and no other.
func TestModules(t *testing.T) {
	mod := readFile(t, "go.mod")
	text := readFile(t, "docs/decisions/0005-dependencies.md")
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+(\S+\.\S+/\S+) v\S+$`).FindAllStringSubmatch(mod, -1) {
		name := strings.TrimPrefix(regexp.MustCompile(`/v\d+$`).ReplaceAllString(m[1], ""), "github.com/")
		if !strings.Contains(text, name) {
			t.Errorf("decision 5 has no line on %s", name)
		}
	}
}

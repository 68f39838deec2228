package layers

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strings"
)

// A library is a package that programs use without the rest of this module. Its package
// lab adapts it to the lab.
type library struct {
	path  string
	never []string // packages that it must not link, from the standard library or elsewhere
}

// libraries each have a golden list, in testdata/libraries, of the packages outside the
// standard library that they depend on.
var libraries = []library{
	{"spinlock", []string{"crypto/tls", "net", "regexp"}},
	{"mutex", []string{"crypto/tls", "net", "regexp"}},
	{"redislock", []string{"github.com/go-zookeeper/zk", "internal/zksession"}},
	{"zklock", []string{"github.com/redis/go-redis/v9", "internal/wire/zookeeper"}},
}

func isLibrary(path string) bool {
	return slices.ContainsFunc(libraries, func(l library) bool { return l.path == path })
}

// checkDeps compares the library's dependencies with the accepted packages, one per line.
// Unless all is set, a build with only some of them is accepted.
func (l library) checkDeps(pkgs []pkg, accepted string, all bool) error {
	i := slices.IndexFunc(pkgs, func(p pkg) bool { return p.rel == l.path })
	if i < 0 {
		return fmt.Errorf("there is no package %s", l.path)
	}
	var errs []error
	want := strings.Fields(accepted)
	for _, d := range pkgs[i].deps {
		if !slices.Contains(want, d) {
			errs = append(errs, fmt.Errorf("%s depends on %s: a program that uses the library would link that", l.path, d))
		}
	}
	for _, d := range want {
		if all && !slices.Contains(pkgs[i].deps, d) {
			errs = append(errs, fmt.Errorf("%s does not depend on %s any more: drop it by\n\tgo test ./internal/layers -run TestLibraries -update", l.path, d))
		}
	}
	for _, d := range l.never {
		if slices.Contains(pkgs[i].std, d) || slices.Contains(pkgs[i].deps, d) {
			errs = append(errs, fmt.Errorf("%s links %s, which it must not", l.path, d))
		}
	}
	return errors.Join(errs...)
}

// labWords are internal words that mean nothing to a program that uses a library.
var labWords = regexp.MustCompile(`(?i)\b(suites?|ranks?|harness|lab|imports?)\b`)

// lostLink matches a documentation link that go doc could not resolve: it keeps the
// brackets of such links.
var lostLink = regexp.MustCompile(`\[([a-z]\w*\.)?[A-Z]\w*(\.\w+)?\]`)

// checkGodoc returns an error for each line of a library's documentation with an internal
// word, and for each dead link.
func checkGodoc(dir string, l library) error {
	cmd := exec.Command("go", "doc", "-all", "./"+l.path)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("go doc %s: %w\n%s", l.path, err, out)
	}
	_, text, _ := strings.Cut(string(out), "\n") // the first line is the package clause
	var errs []error
	for line := range strings.Lines(text) {
		for _, link := range lostLink.FindAllString(line, -1) {
			errs = append(errs, fmt.Errorf("the documentation of %s has a link that points nowhere: %s", l.path, link))
		}
		for _, word := range labWords.FindAllString(line, -1) {
			errs = append(errs, fmt.Errorf("the documentation of %s speaks of %q, which is no matter of the library: %s", l.path, word, strings.TrimSpace(line)))
		}
	}
	return errors.Join(errs...)
}

// labSymbols match the symbols that a program must not link because it uses a library,
// and broken specimens left in one.
var labSymbols = regexp.MustCompile(`/lab\.|/harness[./]|busted|nofence|NoFence|relic|[Hh]istorical`)

func checkSymbols(nm []byte) error {
	for lines := bufio.NewScanner(bytes.NewReader(nm)); lines.Scan(); {
		if labSymbols.Match(lines.Bytes()) {
			return fmt.Errorf("the program has the symbol %s", strings.TrimSpace(lines.Text()))
		}
	}
	return nil
}

package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A failure is a test that failed, by its name without subtests.
type failure struct {
	args  string // of the run
	pkg   string
	test  string
	count int  // it and its subtests
	final bool // it is not run again
}

// fatal is what a failing test says whose failure has nothing to do with time: what the
// race detector found, and what ended the process.
var fatal = regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic: |fatal error: |unexpected fault address)`)

// fails notes that a test failed, and that its failure is final if what it said or its
// name says so.
func (t reading) fails(e event, said string) {
	top, _, _ := strings.Cut(e.Test, "/")
	i := slices.IndexFunc(t.failures, func(f *failure) bool {
		return f.args == t.args && f.pkg == e.Package && f.test == top
	})
	if i < 0 {
		i = len(t.failures)
		t.failures = append(t.failures, &failure{args: t.args, pkg: e.Package, test: top})
	}
	f := t.failures[i]
	f.count++
	f.final = f.final || e.Test == "" || fatal.MatchString(said) || t.final != nil && (t.final.MatchString(e.Test) || t.final.MatchString(said))
}

// again runs the tests that failed twice more, when nothing is beside them. What passes
// both times does not count as failed; the summary names it. More failures than limit
// are not the machine's, and neither is a final one.
func (t *tally) again(limit int) {
	if len(t.failures) > limit || slices.ContainsFunc(t.failures, func(f *failure) bool { return f.final }) {
		return
	}
	for _, f := range t.failures {
		second := &tally{out: t.out, module: t.module, final: t.final, skipped: make(map[string][]string)}
		err := second.run(againArgs(f))
		if err == nil && second.failed == 0 && second.passed > 0 {
			t.failed -= f.count
			t.unsteady = append(t.unsteady, fmt.Sprintf("%s %s", strings.TrimPrefix(f.pkg, t.module+"/"), f.test))
		}
	}
}

// againArgs returns the arguments of go test that run f twice: those of its run, for one
// test of one package.
func againArgs(f *failure) string {
	var kept []string
	words := strings.Fields(f.args)
	for i := 0; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"): // a package
		case joined || name == "-race" || name == "-short":
			kept = append(kept, words[i])
		case i+1 < len(words):
			if name != "-p" && name != "-run" && name != "-skip" && name != "-count" {
				kept = append(kept, words[i], words[i+1])
			}
			i++
		}
	}
	return strings.Join(append(kept, "-count=2", "-run", "^"+f.test+"$", f.pkg), " ")
}

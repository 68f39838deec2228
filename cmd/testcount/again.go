package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

type failure struct {
	args  string
	pkg   string
	test  string
	count int  // with its subtests
	final bool // it is not run again
}

// fatal matches failures independent of time: data races, and crashes.
var fatal = regexp.MustCompile(`(?m)^(WARNING: DATA RACE|panic: |fatal error: |unexpected fault address)`)

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

// again runs the failed tests twice more, alone; a test that then passes is named and does not count.
// It does nothing above limit, or if a failure is final.
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

func againArgs(f *failure) string {
	var kept []string
	words := strings.Fields(f.args)
	for i := 0; i < len(words); i++ {
		name, _, joined := strings.Cut(words[i], "=")
		switch {
		case !strings.HasPrefix(name, "-"):
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

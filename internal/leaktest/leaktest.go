package leaktest

import (
	"fmt"
	"io"
	"maps"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const patience = 20 * time.Second

// All fails t if at its end a goroutine runs that did not run before. No other test may
// run at the same time.
func All(t testing.TB) {
	t.Helper()
	all(t, patience)
}

func all(t testing.TB, patience time.Duration) {
	before := goroutines()
	t.Cleanup(func() {
		for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
			left := goroutines()
			maps.DeleteFunc(left, func(id, _ string) bool { return before[id] != "" })
			if len(left) == 0 {
				return
			}
			if time.Now().After(deadline) {
				t.Errorf("goroutines are left:\n%s", strings.Join(slices.Collect(maps.Values(left)), "\n\n"))
				return
			}
		}
	})
}

// goroutines returns the stacks of all goroutines by their number. Their count is not
// enough: a goroutine of the previous test may be ending, and a leaked one would replace
// it.
func goroutines() map[string]string {
	all := make(map[string]string)
	for _, stack := range stacks() {
		id, _, _ := strings.Cut(stack, " [")
		all[id] = stack
	}
	return all
}

func stacks() []string {
	for size := 1 << 20; ; size *= 2 {
		buf := make([]byte, size)
		if n := runtime.Stack(buf, true); n < size {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
		}
	}
}

// A Process is the tests of a package, which may run in parallel. Its Run returns 1 if
// after the last test goroutines are left that run code of Packages, or that such code
// started. It does not matter how they were started.
type Process struct {
	Tests    interface{ Run() int } // a *testing.M
	Packages []string
}

func (p Process) Run() int { return p.run(os.Stderr, patience) }

func (p Process) run(w io.Writer, patience time.Duration) int {
	code := p.Tests.Run()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		left := running(p.Packages)
		switch {
		case code != 0 || len(left) == 0: // a failed test may leave anything
			return code
		case time.Now().After(deadline):
			fmt.Fprintf(w, "goroutines are left after all tests:\n%s\n", strings.Join(left, "\n\n"))
			return 1
		}
	}
}

func running(packages []string) []string {
	return slices.DeleteFunc(stacks(), func(s string) bool {
		return !slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(s, p+".") })
	})
}

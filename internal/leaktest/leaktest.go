package leaktest

import (
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

const patience = 20 * time.Second

// All fails t if at its end a goroutine runs that did not run before. No other test may
// run at the same time.
func All(t testing.TB) {
	t.Helper()
	all(t, patience)
}

func all(t testing.TB, patience time.Duration) {
	before := goleak.IgnoreCurrent()
	t.Cleanup(func() {
		deadline, left := time.Now().Add(patience), goleak.Find(before)
		for left != nil && time.Now().Before(deadline) {
			left = goleak.Find(before)
		}
		if left != nil {
			t.Errorf("goroutines are left: %v", left)
		}
	})
}

func stacks() []string {
	var text strings.Builder
	_ = pprof.Lookup("goroutine").WriteTo(&text, 2) // it never fails
	return strings.Split(text.String(), "\n\n")
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

package leaktest

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/pprof"
	"slices"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines have to end after their test.
const patience = 20 * time.Second

// All fails t if a goroutine runs when it ends that did not run before. No other test
// may run beside it.
func All(t testing.TB) {
	t.Helper()
	all(t, patience)
}

func all(t testing.TB, patience time.Duration) {
	before := goroutines()
	t.Cleanup(func() {
		end(t, patience, func() (left []string) {
			for id, stack := range goroutines() {
				if _, ok := before[id]; !ok {
					left = append(left, stack)
				}
			}
			return left
		})
	})
}

// goroutines returns the stacks of all goroutines by their number. Their count would not
// do: that of the test before may still be on its way out, and one that is left would take its place.
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

// Own fails t if goroutines are left when it ends that t, its subtests or what
// they have called began: those that carry its label, which goroutines inherit,
// so that other tests may run beside it. Those that timers begin have none, which
// only [All] and [Process] see.
func Own(t testing.TB) {
	t.Helper()
	own(t, patience)
}

func own(t testing.TB, patience time.Duration) {
	label(t)
	t.Cleanup(func() {
		pprof.SetGoroutineLabels(context.Background())
		end(t, patience, func() []string { return labelled(t, t.Name()) })
	})
}

// end waits until nothing is left.
func end(t testing.TB, patience time.Duration, left func() []string) {
	t.Helper()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		l := left()
		if len(l) == 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Errorf("goroutines are left:\n%s", strings.Join(l, "\n\n"))
			return
		}
	}
}

// A Process is the tests of a package, some of which run beside each other. Its Run
// returns 1 if after the last of them goroutines are left that run code of Packages, or
// that such code began, whatever began them.
type Process struct {
	Tests    interface{ Run() int } // a *testing.M
	Packages []string
}

// Run runs the tests.
func (p Process) Run() int { return p.run(os.Stderr, patience) }

func (p Process) run(w io.Writer, patience time.Duration) int {
	code := p.Tests.Run()
	for deadline := time.Now().Add(patience); ; time.Sleep(5 * time.Millisecond) {
		left := running(p.Packages)
		switch {
		case code != 0 || len(left) == 0: // a test that failed may leave anything
			return code
		case time.Now().After(deadline):
			fmt.Fprintf(w, "goroutines are left after all tests:\n%s\n", strings.Join(left, "\n\n"))
			return 1
		}
	}
}

// running returns the stacks that have code of some packages.
func running(packages []string) []string {
	return slices.DeleteFunc(stacks(), func(s string) bool {
		return !slices.ContainsFunc(packages, func(p string) bool { return strings.Contains(s, p+".") })
	})
}

func label(t testing.TB) {
	pprof.SetGoroutineLabels(pprof.WithLabels(context.Background(), pprof.Labels("test", t.Name())))
}

// labelled returns the stacks of the goroutines of a test.
func labelled(t testing.TB, name string) []string {
	t.Helper()
	var out bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&out, 1); err != nil {
		t.Fatal(err)
	}
	label := fmt.Sprintf("\n# labels: {\"test\":%q}\n", name)
	return slices.DeleteFunc(strings.Split(out.String(), "\n\n"), func(s string) bool { return !strings.Contains(s, label) })
}

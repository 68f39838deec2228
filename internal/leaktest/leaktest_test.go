package leaktest

import (
	"strings"
	"testing"
	"time"
)

type witness struct {
	testing.TB
	cleanup func()
	failed  bool
}

func (w *witness) Cleanup(f func())      { w.cleanup = f }
func (w *witness) Errorf(string, ...any) { w.failed = true }

// TestFound: a goroutine that stays fails a test, and one that ends within the patience does not.
func TestFound(t *testing.T) {
	All(t)
	w, stop := &witness{TB: t}, make(chan struct{})
	defer time.AfterFunc(time.Second, func() { close(stop) }) // goleak by itself waits for half of that
	all(w, 100*time.Millisecond)
	go func() { <-stop }()
	if w.cleanup(); !w.failed {
		t.Error("a goroutine is left, and the test passes")
	}
}

// timed is a set of tests that leaves a goroutine, started by a timer, while stop is
// open.
type timed struct {
	stop chan struct{}
	code int
}

func (t timed) Run() int {
	begun := make(chan struct{})
	time.AfterFunc(0, func() {
		close(begun)
		<-t.stop
	})
	<-begun
	return t.code
}

// TestProcess checks that goroutines of timers are found after the last test, only those
// of the named package, and that a failure of the tests is not hidden.
func TestProcess(t *testing.T) {
	All(t)
	const here, other = "locklab/internal/leaktest", "locklab/harness"
	for _, test := range []struct {
		name, of   string
		leaves     bool
		code, want int
	}{
		{"left", here, true, 0, 1},
		{"not left", here, false, 0, 0},
		{"left by another package", other, true, 0, 0},
		{"failed", here, true, 2, 2},
	} {
		stop := make(chan struct{})
		if !test.leaves {
			close(stop)
		}
		// This test's own goroutine also has code of the package, so the pattern names a
		// function of the leaked one.
		of := test.of
		if of == here {
			of += ".timed"
		}
		var out strings.Builder
		got := Process{timed{stop, test.code}, []string{of}}.run(&out, 100*time.Millisecond)
		if got != test.want || (got == 1) != strings.Contains(out.String(), "timed.Run") {
			t.Errorf("%s: %d, want %d; it says:\n%s", test.name, got, test.want, out.String())
		}
		if test.leaves {
			close(stop)
		}
	}
}

package leaktest

import (
	"context"
	"runtime"
	"runtime/pprof"
	"testing"
	"time"
)

// TestOwn: a goroutine is found by the test that began it, in whichever way, and
// by no other.
func TestOwn(t *testing.T) {
	All(t)
	stop := make(chan struct{})
	defer close(stop)
	t.Run("a", func(t *testing.T) {
		label(t)
		t.Run("sub", func(*testing.T) { go func() { go func() { <-stop }() }() })
		pprof.SetGoroutineLabels(context.Background())
	})
	deadline := time.Now().Add(patience)
	for len(labelled(t, t.Name()+"/a")) != 1 {
		if time.Now().After(deadline) {
			t.Fatal("want one goroutine left")
		}
		time.Sleep(time.Millisecond)
	}
	if left := labelled(t, t.Name()+"/b"); len(left) != 0 {
		t.Errorf("another test is blamed:\n%s", left)
	}
}

// A witness keeps what a test is told to do at its end.
type witness struct {
	testing.TB
	cleanups []func()
	failed   bool
}

func (w *witness) Cleanup(f func())      { w.cleanups = append(w.cleanups, f) }
func (w *witness) Errorf(string, ...any) { w.failed = true }

// TestFound: a test that leaves a goroutine fails, and one that does not passes,
// even if the goroutine takes a while to end.
func TestFound(t *testing.T) {
	All(t)
	before := runtime.NumGoroutine()
	for name, check := range map[string]func(testing.TB, time.Duration){"all": all, "own": own} {
		for _, leaves := range []bool{true, false} {
			w, stop := &witness{TB: t}, make(chan struct{})
			check(w, 100*time.Millisecond)
			go func() { <-stop }()
			if leaves {
				time.AfterFunc(time.Second, func() { close(stop) })
			} else {
				time.AfterFunc(20*time.Millisecond, func() { close(stop) })
			}
			w.cleanups[0]()
			if w.failed != leaves {
				t.Errorf("%s: a test that leaves a goroutine, %t, fails: %t", name, leaves, w.failed)
			}
			<-stop
			for runtime.NumGoroutine() > before {
				time.Sleep(time.Millisecond) // those that came here may still be on their way out
			}
		}
	}
}

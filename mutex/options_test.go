package mutex_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"locklab/mutex"
)

// TestConstructorsRefuseMistakes checks that a mistake has the same message for every
// lock.
func TestConstructorsRefuseMistakes(t *testing.T) {
	for name, worker := range map[string]func(workers int, o mutex.Options, i int){
		"MCSPark":  func(n int, o mutex.Options, i int) { mutex.NewMCSPark(n, o).Worker(i) },
		"SpinPark": func(n int, o mutex.Options, i int) { mutex.NewSpinPark(n, o).Worker(i) },
		"BRAVO":    func(n int, o mutex.Options, i int) { mutex.NewBRAVO(n, new(sync.RWMutex), o).Worker(i) },
	} {
		for _, good := range []int{1, 3} {
			if got := panics(func() { worker(good, mutex.Options{}, good-1) }); got != "" {
				t.Errorf("%s for %d workers: %s", name, good, got)
			}
		}
		for _, bad := range []int{0, -1, -5} {
			wantPanic(t, name, fmt.Sprintf("locklab: a lock for %d workers: want at least 1", bad), func() { worker(bad, mutex.Options{}, 0) })
		}
		wantPanic(t, name, `locklab: unknown wait policy "often"`, func() { worker(2, mutex.Options{Wait: "often"}, 0) })
		wantPanic(t, name, `locklab: unknown pin "core"`, func() { worker(2, mutex.Options{Pin: "core"}, 0) })
		for _, i := range []int{-1, 2} {
			wantPanic(t, name, fmt.Sprintf("locklab: worker %d of a lock for 2", i), func() { worker(2, mutex.Options{}, i) })
		}
	}
}

// TestWaitersRefuseMistakes checks that a lock without a constructor refuses a bad option
// when a goroutine must wait.
func TestWaitersRefuseMistakes(t *testing.T) {
	const often = `locklab: unknown wait policy "often"`
	wantPanic(t, "SeqLock", often, func() {
		l := mutex.SeqLock{Wait: "often"}
		l.Lock()
		l.Lock()
	})
	wantPanic(t, "PhaseFair", often, func() {
		l := mutex.PhaseFair{Wait: "often"}
		l.Lock()
		l.RLock()
	})
}

func wantPanic(t *testing.T, name, want string, f func()) {
	t.Helper()
	if got := panics(f); !strings.HasPrefix(got, want) {
		t.Errorf("%s: panic %q, want %q", name, got, want)
	}
}

// panics returns the value with which f panics, or "".
func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

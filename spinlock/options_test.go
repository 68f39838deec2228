package spinlock_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"

	"locklab/spinlock"
)

// constructors lists every constructor with workers and Options of a lock without handles.
var constructors = map[string]func(workers int, o spinlock.Options){
	"NewTicket":             func(n int, o spinlock.Options) { spinlock.NewTicket(n, o) },
	"NewProportionalTicket": func(n int, o spinlock.Options) { spinlock.NewProportionalTicket(n, o) },
	"NewAnderson":           func(n int, o spinlock.Options) { spinlock.NewAnderson(n, o) },
	"NewTWA":                func(n int, o spinlock.Options) { spinlock.NewTWA(n, spinlock.NewWaitingArray(1), o) },
}

// handles lists the other constructors, and asks for the handle of worker i.
var handles = map[string]func(workers int, o spinlock.Options, i int){
	"NewHapax":      func(n int, o spinlock.Options, i int) { spinlock.NewHapax(n, spinlock.NewHapaxSpace(1), o).Worker(i) },
	"NewMCS":        func(n int, o spinlock.Options, i int) { spinlock.NewMCS(n, o).Worker(i) },
	"NewK42":        func(n int, o spinlock.Options, i int) { spinlock.NewK42(n, o).Worker(i) },
	"NewCLH":        func(n int, o spinlock.Options, i int) { spinlock.NewCLH(n, o).Worker(i) },
	"NewHemlock":    func(n int, o spinlock.Options, i int) { spinlock.NewHemlock(n, o).Worker(i) },
	"NewMalthusian": func(n int, o spinlock.Options, i int) { spinlock.NewMalthusian(n, o).Worker(i) },
	"NewFissile":    func(n int, o spinlock.Options, i int) { spinlock.NewFissile(n, o).Worker(i) },
	"NewCohort":     func(n int, o spinlock.Options, i int) { spinlock.NewCohort(n, o).Worker(i) },
}

func TestConstructorsRefuseMistakes(t *testing.T) {
	all := maps.Clone(constructors)
	for name, worker := range handles {
		all[name] = func(n int, o spinlock.Options) { worker(n, o, n-1) }
		for _, i := range []int{-1, 2} {
			wantPanic(t, name, fmt.Sprintf("locklab: worker %d of a lock for 2", i), func() { worker(2, spinlock.Options{}, i) })
		}
	}
	for name, make := range all {
		for _, good := range []int{1, 3} {
			if got := panics(func() { make(good, spinlock.Options{}) }); got != "" {
				t.Errorf("%s for %d workers: %s", name, good, got)
			}
		}
		for _, bad := range []int{0, -1, -5} {
			wantPanic(t, name, fmt.Sprintf("locklab: a lock for %d workers: want at least 1", bad), func() { make(bad, spinlock.Options{}) })
		}
		wantPanic(t, name, `locklab: unknown wait policy "often"`, func() { make(2, spinlock.Options{Wait: "often"}) })
		wantPanic(t, name, `locklab: unknown pin "core"`, func() { make(2, spinlock.Options{Pin: "core"}) })
	}
	wantPanic(t, "NewCLH", "locklab: a CLH lock is for 16777214 workers at most", func() { spinlock.NewCLH(16777215, spinlock.Options{}) })
}

func TestOtherMistakes(t *testing.T) {
	for _, nodes := range [][]int{{}, {0}, {0, 1, 2}, {0, -1}} {
		wantPanic(t, "NewCohort", "locklab: Nodes is", func() { spinlock.NewCohort(2, spinlock.Options{Nodes: nodes}) })
	}
	wantPanic(t, "NewHapaxSpace", "locklab: 0 slots", func() { spinlock.NewHapaxSpace(0) })
	wantPanic(t, "NewWaitingArray", "locklab: 0 slots", func() { spinlock.NewWaitingArray(0) })

	const often = `locklab: unknown wait policy "often"`
	wantPanic(t, "TAS", often, func() { twice(&spinlock.TAS{Wait: "often"}) })
	wantPanic(t, "ExchangeTAS", often, func() { twice(&spinlock.ExchangeTAS{Wait: "often"}) })
	wantPanic(t, "TTAS", often, func() { twice(&spinlock.TTAS{Wait: "often"}) })
	wantPanic(t, "Backoff", often, func() { twice(&spinlock.Backoff{Wait: "often"}) })
	wantPanic(t, "Ticket", often, func() { twice(&spinlock.Ticket{Wait: "often"}) })
}

func twice(mu interface{ Lock() }) {
	mu.Lock()
	mu.Lock()
}

func wantPanic(t *testing.T, name, want string, f func()) {
	t.Helper()
	if got := panics(f); !strings.HasPrefix(got, want) {
		t.Errorf("%s: panic %q, want %q", name, got, want)
	}
}

func panics(f func()) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = fmt.Sprint(r)
		}
	}()
	f()
	return ""
}

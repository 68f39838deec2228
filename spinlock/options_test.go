package spinlock_test

import (
	"fmt"
	"strings"
	"testing"

	"locklab/spinlock"
)

// constructors lists every constructor with workers and Options, and uses the last handle.
var constructors = map[string]func(workers int, o spinlock.Options){
	"NewTicket":             func(n int, o spinlock.Options) { spinlock.NewTicket(n, o) },
	"NewProportionalTicket": func(n int, o spinlock.Options) { spinlock.NewProportionalTicket(n, o) },
	"NewAnderson":           func(n int, o spinlock.Options) { spinlock.NewAnderson(n, o) },
	"NewTWA":                func(n int, o spinlock.Options) { spinlock.NewTWA(n, spinlock.NewWaitingArray(1), o) },
	"NewHapax":              func(n int, o spinlock.Options) { spinlock.NewHapax(n, spinlock.NewHapaxSpace(1), o).Worker(n - 1) },
	"NewMCS":                func(n int, o spinlock.Options) { spinlock.NewMCS(n, o).Worker(n - 1) },
	"NewK42":                func(n int, o spinlock.Options) { spinlock.NewK42(n, o).Worker(n - 1) },
	"NewCLH":                func(n int, o spinlock.Options) { spinlock.NewCLH(n, o).Worker(n - 1) },
	"NewHemlock":            func(n int, o spinlock.Options) { spinlock.NewHemlock(n, o).Worker(n - 1) },
	"NewMalthusian":         func(n int, o spinlock.Options) { spinlock.NewMalthusian(n, o).Worker(n - 1) },
	"NewFissile":            func(n int, o spinlock.Options) { spinlock.NewFissile(n, o).Worker(n - 1) },
	"NewCohort":             func(n int, o spinlock.Options) { spinlock.NewCohort(n, o).Worker(n - 1) },
}

func TestConstructorsRefuseMistakes(t *testing.T) {
	for name, make := range constructors {
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

func TestWorkerRefusesMistakes(t *testing.T) {
	o := spinlock.Options{Nodes: []int{0, 1}}
	for name, worker := range map[string]func(i int){
		"Hapax":      func(i int) { spinlock.NewHapax(2, spinlock.NewHapaxSpace(1), o).Worker(i) },
		"MCS":        func(i int) { spinlock.NewMCS(2, o).Worker(i) },
		"K42":        func(i int) { spinlock.NewK42(2, o).Worker(i) },
		"CLH":        func(i int) { spinlock.NewCLH(2, o).Worker(i) },
		"Hemlock":    func(i int) { spinlock.NewHemlock(2, o).Worker(i) },
		"Malthusian": func(i int) { spinlock.NewMalthusian(2, o).Worker(i) },
		"Fissile":    func(i int) { spinlock.NewFissile(2, o).Worker(i) },
		"Cohort":     func(i int) { spinlock.NewCohort(2, o).Worker(i) },
	} {
		for _, i := range []int{-1, 2} {
			wantPanic(t, name, fmt.Sprintf("locklab: worker %d of a lock for 2", i), func() { worker(i) })
		}
	}
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

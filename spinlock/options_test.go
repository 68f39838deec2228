package spinlock_test

import (
	"fmt"
	"maps"
	"testing"

	"locklab/atomics"
	"locklab/harness/locktest"
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
			locktest.RequirePanic(t, name, fmt.Sprintf("locklab: worker %d of a lock for 2", i), func() { worker(2, spinlock.Options{}, i) })
		}
	}
	for name, make := range all {
		for _, good := range []int{1, 3} {
			locktest.RequirePanic(t, name, "", func() { make(good, spinlock.Options{}) })
		}
		for _, bad := range []int{0, -1, -5} {
			locktest.RequirePanic(t, name, fmt.Sprintf("locklab: a lock for %d workers: want at least 1", bad), func() { make(bad, spinlock.Options{}) })
		}
		locktest.RequirePanic(t, name, `locklab: unknown wait policy "often"`, func() { make(2, spinlock.Options{Wait: "often"}) })
		locktest.RequirePanic(t, name, `locklab: unknown pin "core"`, func() { make(2, spinlock.Options{Pin: "core"}) })
	}
	const most = 1<<31/atomics.CacheLine - 2
	locktest.RequirePanic(t, "NewCLH", fmt.Sprintf("locklab: a CLH lock is for %d workers at most", most), func() { spinlock.NewCLH(most+1, spinlock.Options{}) })
}

func TestOtherMistakes(t *testing.T) {
	for _, nodes := range [][]int{{}, {0}, {0, 1, 2}, {0, -1}} {
		locktest.RequirePanic(t, "NewCohort", "locklab: Nodes is", func() { spinlock.NewCohort(2, spinlock.Options{Nodes: nodes}) })
	}
	locktest.RequirePanic(t, "NewHapaxSpace", "locklab: 0 slots", func() { spinlock.NewHapaxSpace(0) })
	locktest.RequirePanic(t, "NewWaitingArray", "locklab: 0 slots", func() { spinlock.NewWaitingArray(0) })

	const often = `locklab: unknown wait policy "often"`
	locktest.RequirePanic(t, "TAS", often, func() { lockTwice(&spinlock.TAS{Wait: "often"}) })
	locktest.RequirePanic(t, "ExchangeTAS", often, func() { lockTwice(&spinlock.ExchangeTAS{Wait: "often"}) })
	locktest.RequirePanic(t, "TTAS", often, func() { lockTwice(&spinlock.TTAS{Wait: "often"}) })
	locktest.RequirePanic(t, "Backoff", often, func() { lockTwice(&spinlock.Backoff{Wait: "often"}) })
	locktest.RequirePanic(t, "Ticket", often, func() { lockTwice(&spinlock.Ticket{Wait: "often"}) })
}

func lockTwice(mu interface{ Lock() }) {
	mu.Lock()
	mu.Lock()
}

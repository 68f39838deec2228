//go:build systematic && simulate

package simulate_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/internal/require"
	"locklab/spinlock/lab"
)

func TestAllocations(t *testing.T) {
	w := section(32)
	w.Acquisitions, w.Warm = 4000, 100
	i := slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == "ticket" })
	var r simulate.Result
	n := testing.AllocsPerRun(1, func() {
		var err error
		if r, err = simulate.Run(largeMachine(t), w, lab.Suite[i].Local); err != nil {
			t.Fatal(err)
		}
	})
	if n > float64(r.Acquisitions)/2 || r.Misses < 10 {
		t.Errorf("%.0f allocations for %d acquisitions with %.0f misses each", n, r.Acquisitions, r.Misses)
	}
}

// An alternating lock gives the turn to the other worker at each release, by its Parker.
type alternating [2]*atomics.Parker

func (a *alternating) Worker(i int) sync.Locker { return &alternatingWorker{a, i} }

type alternatingWorker struct {
	a *alternating
	i int
}

func (w *alternatingWorker) Lock()   { w.a[w.i].Park() }
func (w *alternatingWorker) Unlock() { w.a[1-w.i].Unpark() }

// TestSleepers: a handover to a sleeper takes WakeUp, a sleeper that nobody wakes is
// stuck, and a permit from before the sleep ends it at once.
func TestSleepers(t *testing.T) {
	lock := func(first bool) func(harness.Setup) harness.Local {
		return func(harness.Setup) harness.Local {
			a := &alternating{atomics.NewParker(), atomics.NewParker()}
			if first {
				a[0].Unpark()
			}
			return a
		}
	}
	w := section(2)
	r, err := simulate.Run(machine(t), w, lock(true))
	require.NoError(t, err)
	if r.HandOver < simulate.WakeUp || r.HandOver > 1.5*simulate.WakeUp {
		t.Errorf("a handover takes %.0f ns, want %d and the time of a few instructions", r.HandOver, simulate.WakeUp)
	}
	if _, err := simulate.Run(machine(t), w, lock(false)); !errors.Is(err, simulate.ErrStuck) {
		t.Errorf("without a permit: error %v, want %v", err, simulate.ErrStuck)
	}
}

func largeMachine(t *testing.T) *simulate.Machine {
	m := machine(t)
	m.Sockets, m.Cores = 4, 16
	return m
}

var oneWaiter = []string{"twa", "anderson", "mcs", "k42", "clh", "hapax", "hemlock", "reciprocating", "fissile"}

// TestEvents limits the events per acquisition: a few for each polling waiter, none in a
// queue.
func TestEvents(t *testing.T) {
	m := largeMachine(t)
	eachLock(t, 64, func(t *testing.T, v *harness.Variant) {
		w := section(64)
		r, err := simulate.Run(m, w, v.Local)
		require.NoError(t, err)
		most := 7 * w.Workers
		if slices.Contains(oneWaiter, v.Name) {
			most = 3 * w.Workers / 2
		}
		n := int(r.Steps) / (r.Acquisitions + w.Warm)
		if t.Logf("%d events an acquisition", n); n > most || n == 0 {
			t.Errorf("%d events an acquisition among %d workers, want at most %d", n, w.Workers, most)
		}
	})
}

// TestPingPong: the original benchmark has its latencies on each machine. Transfer is less
// than a hop, which includes the instruction.
func TestPingPong(t *testing.T) {
	for _, m := range simulate.List() {
		for i, c := range []struct {
			where string
			other int // thread
			there bool
		}{
			{"other thread", 1, m.SMT > 1},
			{"cluster", m.SMT, m.Cores > 1},
			{"socket", m.SMT * m.Cores, m.Clusters > 1},
			{"other socket", m.SMT * m.Cores * m.Clusters, m.Sockets > 1},
		} {
			if !c.there {
				continue
			}
			got, want := simulate.OneWay(m, 0, c.other, 1), m.Transfer[i]
			t.Logf("%-15s %-12s %6.1f ns, published %6.1f", m.Name, c.where, got, want)
			if bound := 1.25; i > 0 && max(got/want, want/got) > bound {
				t.Errorf("%s, %s: a hop takes %.1f ns; published are %.1f, and the bound is a factor of %v", m.Name, c.where, got, want, bound)
			}
		}
	}
}

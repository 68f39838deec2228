//go:build systematic && simulate

package simulate_test

import (
	"errors"
	"sync"
	"testing"

	"locklab/atomics"
	"locklab/harness"
	"locklab/harness/simulate"
)

// An alternating lock gives the turn to the other worker at each release, by its Parker.
type alternating [2]*atomics.Parker

func (a *alternating) Worker(i int) sync.Locker { return &alternatingWorker{a, i} }

type alternatingWorker struct {
	a *alternating
	i int
}

func (w *alternatingWorker) Lock()   { w.a[w.i].Park() }
func (w *alternatingWorker) Unlock() { w.a[1-w.i].Unpark() }

// TestSleepers: a handover to a sleeper takes Workload.Wake, a sleeper that nobody wakes is
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
	w.Wake = 5000
	r, err := simulate.Run(machine(t), w, lock(true))
	if err != nil {
		t.Fatal(err)
	}
	if r.HandOver < w.Wake || r.HandOver > w.Wake+1000 {
		t.Errorf("a handover takes %.0f ns, want %.0f and the time of a few instructions", r.HandOver, w.Wake)
	}
	if _, err := simulate.Run(machine(t), w, lock(false)); !errors.Is(err, simulate.ErrStuck) {
		t.Errorf("without a permit: error %v, want %v", err, simulate.ErrStuck)
	}
}

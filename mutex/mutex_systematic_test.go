//go:build systematic

package mutex

import (
	"fmt"
	"testing"

	"locklab/internal/explore"
)

// TestSystematicMutexGivesUp: no wake-up and no handover is lost if some workers give up.
func TestSystematicMutexGivesUp(t *testing.T) {
	over := make(chan struct{})
	close(over)
	defer func(n uint8) { mutexHandovers = n }(mutexHandovers)
	for _, mutexHandovers = range []uint8{1, 255} {
		for _, plan := range []struct {
			gives       []bool // whether the worker gives up when it would sleep
			preemptions int
		}{
			{[]bool{false, true}, 4},
			{[]bool{false, false, true}, 3},
			{[]bool{false, true, true}, 3},
			{[]bool{false, false, false}, 3},
			{[]bool{false, false, true, true}, 1},
		} {
			r := explore.Explore(func() explore.Program {
				m := new(Mutex)
				p := explore.Program{Shared: m, Final: func() error {
					if s := m.state.Load(); s != 0 || m.first != nil {
						return fmt.Errorf("state %#x and first waiter %v in the end, want 0 and none", s, m.first)
					}
					return nil
				}}
				for i, gives := range plan.gives {
					done := over
					if !gives {
						done = nil
					}
					p.Workers = append(p.Workers, func(w *explore.Worker) {
						for range max(1, 2-i) {
							if m.take(0) || m.lockSlow(done) {
								w.Enter()
								w.Leave()
								m.Unlock()
							}
						}
					})
				}
				return p
			}, explore.Limits{Preemptions: plan.preemptions})
			t.Logf("a handover every %d acquisitions, gives up %v: %d schedules, %d states", mutexHandovers, plan.gives, r.Schedules, r.States)
			if r.Failure != nil {
				t.Error(r.Failure)
			} else if !r.Complete {
				t.Error("not all schedules were explored")
			}
		}
	}
}

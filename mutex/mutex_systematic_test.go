//go:build systematic && !simulate

package mutex

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"locklab/atomics"
	"locklab/internal/explore"
)

// TestSystematicMutexGivesUp: no wake-up and no handover is lost if some workers give up.
func TestSystematicMutexGivesUp(t *testing.T) {
	over := make(chan struct{})
	close(over)
	defer func(n uint8, d time.Duration) { mutexHandovers, mutexPatience = n, d }(mutexHandovers, mutexPatience)
	for n, patience := range map[uint8]time.Duration{1: 1, 255: 1, 2: 0} {
		mutexHandovers, mutexPatience = n, patience
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
							if m.TryLock() || m.lockSlow(done) {
								w.Enter()
								w.Leave()
								m.Unlock()
							}
						}
					})
				}
				return p
			}, explore.Limits{Preemptions: plan.preemptions})
			t.Logf("a handover every %d acquisitions, patience %d, gives up %v: %d schedules, %d states", mutexHandovers, mutexPatience, plan.gives, r.Schedules, r.States)
			if r.Failure != nil {
				t.Error(r.Failure)
			}
		}
	}
}

// TestSystematicRWMutex: workers read, write, try and give up, and no wake-up is lost.
func TestSystematicRWMutex(t *testing.T) {
	for _, plan := range []struct {
		workers     string // a field per worker, a letter per acquisition: see rwUses
		preemptions int
	}{
		{"R W", 5},
		{"R WW", 5},
		{"RR WW", 4},
		{"R R W", 3},
		{"R R WW", 2},
		{"W W R", 3},
		{"R r W", 3},
		{"R w W", 3},
		{"R w r", 3},
		{"w w R", 3},
		{"R g W", 3},
		{"R c W", 2},
		{"R g c", 2},
		{"W g g", 3},
		{"L U W", 3},
		{"L U c", 3},
		{"R R W W", 1},
		{"R g W c", 1},
		{"L U W g", 1},
	} {
		t.Run(plan.workers, func(t *testing.T) {
			for spread := range uint32(2) {
				r := explore.Explore(func() explore.Program { return rwProgram(spread, plan.workers) }, explore.Limits{Preemptions: plan.preemptions})
				t.Logf("spread %d at the start: %d schedules, %d states", spread, r.Schedules, r.States)
				if r.Failure != nil {
					t.Fatal(r.Failure)
				}
			}
		})
	}
}

func rwProgram(spread uint32, workers string) explore.Program {
	l := new(RWMutex)
	if l.spread.Store(spread); spread != 0 {
		l.slots = make([]rwSlot, rwSlots())
	}
	passed := new(atomics.Uint32)
	p := explore.Program{Shared: l, Final: func() error {
		if s, n := l.state.Load()/rwWaiting, l.inside(); s != 0 || n != 0 || l.places.Load() != 0 || l.waiters.first != nil || l.writers.state.Load() != 0 {
			return fmt.Errorf("state %#x, %d readers, %d places and writers' state %#x in the end, want 0", s, n, l.places.Load(), l.writers.state.Load())
		}
		return nil
	}}
	for _, letters := range strings.Fields(workers) {
		p.Workers = append(p.Workers, func(w *explore.Worker) {
			for _, letter := range letters {
				rwUses[letter](w, l, passed)
			}
		})
	}
	return p
}

var rwUses = map[rune]func(w *explore.Worker, l *RWMutex, passed *atomics.Uint32){
	'R': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) { l.RLock(); rwRead(w, l, true) },
	'W': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) { l.Lock(); rwWrite(w, l, true) },
	'r': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) { rwRead(w, l, l.TryRLock()) },
	'w': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) { rwWrite(w, l, l.TryLock()) },
	// Those that give up when they would sleep.
	'g': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) {
		rwRead(w, l, l.RLockContext(&endedOnWait{}) == nil)
	},
	'c': func(w *explore.Worker, l *RWMutex, _ *atomics.Uint32) {
		rwWrite(w, l, l.LockContext(&endedOnWait{}) == nil)
	},
	// A worker that locks and another one that unlocks, on another slot.
	'L': func(w *explore.Worker, l *RWMutex, passed *atomics.Uint32) {
		l.RLock()
		w.EnterShared()
		w.Leave()
		passed.Store(1)
	},
	'U': func(w *explore.Worker, l *RWMutex, passed *atomics.Uint32) {
		for passed.Load() == 0 {
			atomics.SpinHint(1)
		}
		rwRead(w, l, true)
	},
}

func rwRead(w *explore.Worker, l *RWMutex, took bool) {
	if !took {
		return
	}
	w.EnterShared()
	w.Leave()
	l.RUnlock()
}

func rwWrite(w *explore.Worker, l *RWMutex, took bool) {
	if !took {
		return
	}
	w.Enter()
	w.Leave()
	l.Unlock()
}

// An endedOnWait is a context that ends when the acquisition waits.
type endedOnWait struct {
	context.Context
	asked bool
}

var ended = func() <-chan struct{} { c := make(chan struct{}); close(c); return c }()

func (*endedOnWait) Done() <-chan struct{} { return ended }
func (*endedOnWait) Value(any) any         { return nil }
func (c *endedOnWait) Err() error {
	if c.asked {
		return context.Canceled
	}
	c.asked = true
	return nil
}

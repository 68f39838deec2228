//go:build systematic && simulate

package simulate

import (
	"errors"
	"fmt"
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// The errors of a run by the fault of the lock.
var (
	ErrTwoHolders = errors.New("simulate: two workers hold the lock")
	ErrStuck      = errors.New("simulate: no worker takes the lock")
)

// patience, in ps, is the time without an acquisition, beyond hold and think, of a stuck lock.
const patience = 2_000_000_000

type cell struct {
	v atomics.Uint64
	_ atomics.CacheLinePad
}

// Run simulates workers that take a lock repeatedly. The error wraps [ErrTwoHolders] or
// [ErrStuck] if the lock fails. A panic of its code is an error, too.
func Run(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{excludes: true})
}

// RunUnlocked is Run for code that admits any number of workers, such as a counter.
func RunUnlocked(m *Machine, w Workload, lock func(harness.Setup) harness.Local) (Result, error) {
	return run(m, w, lock, options{})
}

type options struct {
	excludes bool // more than one holder is an error
	checked  bool // the protocol is checked after every event
	single   bool // workers make their loads and hints one by one
}

func run(m *Machine, w Workload, lock func(harness.Setup) harness.Local, o options) (Result, error) {
	if err := w.Validate(m); err != nil {
		return Result{}, err
	}
	w = w.withDefaults()
	s := newSim(m, w.Seed)
	s.log, s.single, s.wakeUp = w.Log, o.single, s.ps(w.Wake)
	if o.checked {
		s.check = &checker{s: s}
	}
	if w.Exact {
		s.dozing = 0
	}
	s.stuck = patience + 2*s.ps(w.Hold+w.Think)
	t := &tally{s: s, w: w, excludes: o.excludes, holder: none, last: none, turns: make([]int64, w.Workers)}
	handles, err := construct(lock, setup(m, w))
	if err != nil {
		return Result{}, err
	}
	data := make([]cell, w.Lines+1)
	for i, h := range handles {
		s.newCore(i, place(m, w, i), func(c *core) {
			c.spend(int64(s.rng.Float64() * 100_000 * float64(w.Workers))) // in random order
			for {
				s.think(c, w.Think)
				asked := c.clock
				h.Lock()
				t.granted(c, asked)
				for k := range w.Lines {
					v := &data[k].v
					v.StoreRelease(v.Load() + 1)
				}
				c.spend(s.ps(w.Hold))
				t.released(c)
				h.Unlock()
			}
		})
	}
	s.simulate()
	return t.result()
}

// construct makes a lock and the handles of its workers. A lock may refuse by a panic,
// such as a lock for two workers that is given three.
func construct(lock func(harness.Setup) harness.Local, u harness.Setup) (handles []sync.Locker, err error) {
	defer func() {
		if p := recover(); p != nil {
			handles, err = nil, fmt.Errorf("simulate: a lock for %d workers: %v", u.Workers, p)
		}
	}()
	l := lock(u)
	for i := range u.Workers {
		handles = append(handles, l.Worker(i))
	}
	return handles, nil
}

func setup(m *Machine, w Workload) harness.Setup {
	u := harness.Setup{Workers: w.Workers, Wait: w.Wait, Pin: harness.PinCPU}
	for i := range w.Workers {
		u.Nodes = append(u.Nodes, m.cluster(place(m, w, i)/m.SMT))
	}
	return u
}

func (s *sim) think(c *core, ns float64) {
	if ns > 0 {
		c.spend(s.ps(ns * (0.5 + s.rng.Float64())))
	}
}

func place(m *Machine, w Workload, i int) int {
	if w.Apart {
		return spread(m, w, i%m.Caches(), m.Caches())*m.SMT + i/m.Caches()
	}
	return spread(m, w, i, m.Threads())
}

func spread(m *Machine, w Workload, i, n int) int {
	if !w.Spread {
		return i
	}
	return i%m.Sockets*(n/m.Sockets) + i/m.Sockets
}

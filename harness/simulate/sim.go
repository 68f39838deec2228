//go:build systematic && simulate

package simulate

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"

	"locklab/atomics"
	"locklab/harness"
)

// A sim is one run. Times are in picoseconds.
// Its fields are together because every event of the loop changes several of them.
type sim struct {
	m     *Machine
	rng   *rand.Rand
	now   int64
	queue events
	steps int64

	cores    []*core
	lines    map[uintptr]*line // by address
	recent   [recentLines]*line
	order    []*line    // by id
	requests []*request // by id
	unused   []*request // of them the answered ones
	roused   []*core    // for wake
	running  *core
	sleepers map[atomics.Word]*core
	halted   bool
	failure  error
	progress int64 // when a worker last took the lock
	stuck    int64 // longest time without an acquisition; 0 is no limit
	counts   counters
	check    checker // of the protocol, for tests

	hit, store, rmw, fence, pause, yield, dozing, reach, wakeUp int64
}

func newSim(m *Machine, seed uint64) *sim {
	s := &sim{m: m, rng: rand.New(rand.NewPCG(seed, 1)), lines: make(map[uintptr]*line), sleepers: make(map[atomics.Word]*core)}
	s.hit, s.store, s.rmw, s.fence, s.pause, s.yield = s.ps(m.Hit), s.ps(m.Store), s.ps(m.RMW), s.ps(m.Fence), s.ps(m.Pause), s.ps(cmp.Or(m.Yield, m.Pause))
	s.dozing, s.reach, s.wakeUp = longestDoze, s.ps(m.Reach), s.ps(WakeUp)
	return s
}

func (s *sim) ps(ns float64) int64 { return int64(ns * 1000) }

func (s *sim) vary(ns float64) int64 {
	return s.ps(ns * (1 + s.m.Jitter*(2*s.rng.Float64()-1)))
}

func (s *sim) fail(err error) {
	s.failure, s.halted = cmp.Or(s.failure, err), true
}

func (s *sim) simulate() {
	defer atomics.SetScheduler(s.schedule)()
	defer s.stop()
	for _, c := range s.cores {
		c.wakes()
	}
	for len(s.queue.heap) > 0 && !s.halted {
		e := s.queue.pop()
		if s.now = e.at; s.stuck > 0 && s.now > s.progress+s.stuck {
			return
		}
		s.steps++
		s.handle(e)
		if s.check != nil {
			s.check.all()
		}
	}
}

// schedule executes an operation of the running worker; without one the lock is being made.
func (s *sim) schedule(a atomics.Access) uint64 {
	if c := s.running; c != nil {
		return c.access(a)
	}
	if a.Op == atomics.OpRandom {
		return s.rng.Uint64N(max(a.New, 1))
	}
	before := a.Word.Get()
	a.Word.Set(a.After(before))
	return before
}

func (s *sim) stop() {
	for _, c := range s.cores {
		s.running = c
		c.stop()
	}
	s.running = nil
}

func (s *sim) handle(e event) {
	switch e.kind {
	case evCore:
		if c := s.cores[e.id]; e.seq == c.event && !c.over {
			c.step()
		}
	case evTimer:
		s.cores[e.id].rings()
	case evServe:
		s.serve(s.order[e.id])
	case evLeave:
		s.leave(s.order[e.id])
	case evFree:
		s.next(s.order[e.id])
	case evDone:
		s.arrive(s.requests[e.id])
	}
}

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
	return run(m, w, lock, nil)
}

// A checker is called at each change of a line, and after every event.
type checker interface {
	filled(l *line, cache int)
	written(l *line, c *core)
	read(l *line, c *core)
	all()
}

// run is Run with a checker, if checked is not nil.
func run(m *Machine, w Workload, lock func(harness.Setup) harness.Local, checked func(*sim) checker) (Result, error) {
	if err := w.Validate(m); err != nil {
		return Result{}, err
	}
	w.Acquisitions, w.Warm = cmp.Or(w.Acquisitions, max(2000, 8*w.Workers)), cmp.Or(w.Warm, max(100, 3*w.Workers))
	s := newSim(m, w.Seed)
	if checked != nil {
		s.check = checked(s)
	}
	if w.Exact {
		s.dozing = 0
	}
	s.stuck = patience + 2*s.ps(w.Hold+w.Think)
	t := &tally{s: s, w: w, holder: none, last: none, acquisitions: make([]int64, w.Workers)}
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

//go:build systematic && simulate

package simulate

import (
	"fmt"
	"io"
	"math/rand/v2"

	"locklab/atomics"
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
	where    []site            // by cache
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
	log      io.Writer
	check    *checker // of the protocol, for tests
	single   bool     // workers make their loads and hints one by one, for tests

	hit, store, rmw, fence, pause, yield, dozing, reach, wakeUp int64
}

func newSim(m *Machine, seed uint64) *sim {
	s := &sim{m: m, rng: rand.New(rand.NewPCG(seed, 1)), lines: make(map[uintptr]*line), sleepers: make(map[atomics.Word]*core), where: sites(m)}
	s.hit, s.store, s.rmw, s.fence, s.pause, s.yield = s.ps(m.Hit), s.ps(m.Store), s.ps(m.RMW), s.ps(m.Fence), s.ps(m.Pause), s.ps(m.Yield)
	if m.Yield == 0 {
		s.yield = s.pause
	}
	s.dozing, s.reach = longestDoze, s.ps(m.Reach)
	return s
}

func (s *sim) ps(ns float64) int64 { return int64(ns * 1000) }

func (s *sim) vary(ns float64) int64 {
	return s.ps(ns * (1 + s.m.Jitter*(2*s.rng.Float64()-1)))
}

func (s *sim) tell(format string, args ...any) {
	if s.log != nil {
		fmt.Fprintf(s.log, "%8.1f ns  "+format+"\n", append([]any{float64(s.now) / 1000}, args...)...)
	}
}

func (s *sim) fail(err error) {
	if s.failure == nil {
		s.failure = err
	}
	s.halted = true
}

func (s *sim) simulate() {
	defer atomics.SetScheduler(s.schedule)()
	if !s.single {
		defer atomics.SetPoller(s.poll)()
	}
	defer s.stop()
	for _, c := range s.cores {
		c.wakes()
	}
	for s.queue.more() && !s.halted {
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

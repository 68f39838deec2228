//go:build systematic && simulate

package simulate

import (
	"fmt"
	"iter"
	"runtime/debug"
	"slices"

	"locklab/atomics"
)

// A core is one simulated processor. Its fields are together because each instruction uses most.
type core struct {
	s        *sim
	id       int
	cache    int
	siblings []*core // workers on the other threads of the core
	busy     int64   // until then it executes the program's work

	yield func(struct{}) bool
	run   func() (struct{}, bool)
	stop  func()
	over  bool

	clock   int64 // ps, the worker's own time, never before the simulation's while it runs
	until   int64 // it may continue on its own until then
	pending atomics.Access
	has     bool // pending is not done yet
	asked   bool // and a request for it is on its way
	answer  uint64
	event   int64 // the number of its event: others are void

	storeBuffer
	dozing
	lookahead
}

type unwind struct{}

func (s *sim) newCore(id, thread int, body func(*core)) *core {
	c := &core{s: s, id: id, cache: thread / s.m.SMT}
	c.timer = none
	c.run, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if p := recover(); p != nil && p != (unwind{}) {
				s.fail(fmt.Errorf("simulate: worker %d panicked: %v\n%s", id, p, debug.Stack()))
			}
		}()
		body(c)
	})
	for _, d := range s.cores {
		if d.cache == c.cache {
			c.siblings, d.siblings = append(c.siblings, d), append(d.siblings, c)
		}
	}
	s.cores = append(s.cores, c)
	return c
}

func (c *core) suspend() {
	if !c.yield(struct{}{}) {
		panic(unwind{})
	}
}

func (c *core) resume(until int64) {
	if c.over {
		return
	}
	before := c.s.running
	c.until, c.s.running = until, c
	if _, more := c.run(); !more {
		c.over = true
	}
	c.s.running = before
}

func (c *core) wakes() {
	c.event = c.s.at(max(c.clock, c.s.now), evCore, c.id)
}

// works passes time by the thread's own work, longer if the core's other thread works too. A
// polling thread leaves most units free: lh_swap_mutex and lh_ticket_spinlock with a section
// of 1000 ns take no longer on both threads.
func (c *core) works(ps int64) {
	if slices.ContainsFunc(c.siblings, func(d *core) bool { return d.busy > c.clock }) {
		ps = int64(float64(ps) * max(c.s.m.Sibling, 1))
	}
	c.clock += ps
}

func (c *core) spend(ps int64) {
	c.works(ps)
	c.busy = c.clock
}

func (c *core) access(a atomics.Access) uint64 {
	switch a.Op {
	case atomics.OpSpin:
		return c.spin(a)
	case atomics.OpRandom:
		return c.s.rng.Uint64N(max(a.New, 1))
	case atomics.OpLane:
		return uint64(c.id)
	case atomics.OpNow:
		return uint64(c.clock / 1000)
	case atomics.OpAcquire:
		return c.sleep(a)
	case atomics.OpRelease:
		return c.rouseSleeper(a)
	case atomics.OpLoad:
		c.napInLoop(a)
		if c.clock >= c.until {
			break
		}
		if v, ok := c.load(a); ok {
			return v
		}
	}
	c.pending, c.has = a, true
	c.wakes()
	c.suspend()
	return c.answer
}

func (c *core) load(a atomics.Access) (v uint64, ok bool) {
	s := c.s
	if v, ok := c.forward(a.Word); ok {
		c.works(s.hit)
		c.stale = true
		return v, true
	}
	l := s.line(a.Word, c)
	if !l.holds(c.cache) {
		return 0, false
	}
	if s.check != nil {
		s.check.read(l, c)
	}
	c.works(s.hit)
	c.looked(l, a.Word)
	return a.Word.Get(), true
}

func (c *core) step() {
	s := c.s
	if c.dozes {
		c.rouse(s.now, nil)
		return
	}
	c.clock = max(c.clock, s.now)
	if !c.has {
		c.resume(s.horizon())
		return
	}
	switch a := c.pending; a.Op {
	case atomics.OpLoad:
		if v, ok := c.load(a); ok {
			c.answered(v)
			return
		}
		c.stale, c.asked = true, true
		l := s.line(a.Word, c)
		s.ask(s.request(request{core: c, access: a, line: l, early: c.ahead(l)}))
	case atomics.OpStoreRelease:
		c.stale = true
		c.store(a)
		c.answered(0)
	default:
		c.stale = true
		c.lag = 0 // later loads wait for it
		c.modify(a)
	}
}

// modify executes a locked instruction, or first requests its line. It waits until the
// store buffer is empty: Intel SDM volume 3, 8.2.3.9 ("Loads and Stores Are Not Reordered
// with Locked Instructions").
func (c *core) modify(a atomics.Access) {
	s := c.s
	if len(c.buffer) > 0 {
		c.fetch(a)
		return // drain continues here
	}
	l := s.line(a.Word, c)
	switch {
	case l.owns(c.cache) && l.locked > s.now: // by the other thread of the core
		c.clock = l.locked
		c.wakes()
	case l.owns(c.cache):
		c.instruct(l, a)
	case slices.Contains(c.fetching, l): // it is on its way
	default:
		c.asked = true
		s.ask(s.request(request{core: c, access: a, line: l, own: true}))
	}
}

func (c *core) instruct(l *line, a atomics.Access) {
	s := c.s
	c.answer = s.apply(l, c, a)
	l.locked = s.now + s.rmw
	c.has, c.asked, c.clock = false, false, s.now+s.rmw
	c.wakes()
}

func (c *core) answered(v uint64) {
	c.answer, c.has, c.asked = v, false, false
	c.resume(c.s.horizon())
}

func (c *core) loaded(v uint64) {
	c.clock = c.s.now
	c.came()
	c.answered(v)
}

//go:build systematic && simulate

package simulate

import (
	"iter"
	"slices"

	"locklab/atomics"
)

// A core is a hardware thread and the worker on it.
type core struct {
	s     *Sim
	id    int
	cache int

	yield func(struct{}) bool
	run   func() (struct{}, bool)
	stop  func()
	over  bool

	clock    int64 // the worker's own time, never before the simulation's while it runs
	until    int64 // it may go on by itself until then
	pending  atomics.Access
	has      bool // pending is to be done
	asked    bool // and a request for it is on its way
	answer   uint64
	buffer   []atomics.Access // stores that others do not see yet
	fetching []*line          // sent for by them

	looks  []*line // what it has read since its last spin hint, and nothing else
	stale  bool    // it did something else
	same   int     // loads in a row of one word
	last   atomics.Word
	dozes  bool
	ticket int64 // of its event: others are void
}

type unwind struct{}

func (s *Sim) newCore(id, thread int, body func(*core)) *core {
	c := &core{s: s, id: id, cache: thread / s.m.SMT}
	c.run, c.stop = iter.Pull(func(yield func(struct{}) bool) {
		c.yield = yield
		defer func() {
			if p := recover(); p != nil && p != (unwind{}) {
				panic(p)
			}
		}()
		body(c)
	})
	return c
}

// suspend gives control to the simulator.
func (c *core) suspend() {
	if !c.yield(struct{}{}) {
		panic(unwind{})
	}
}

// resume lets the worker go on by itself until some time.
func (c *core) resume(until int64) {
	c.until = until
	c.s.running = c
	if _, more := c.run(); !more {
		c.over = true
	}
	c.s.running = nil
}

// wakes schedules the core for its own time.
func (c *core) wakes() {
	c.ticket++
	c.s.push(event{at: max(c.clock, c.s.now), kind: evCore, id: c.id, ticket: c.ticket})
}

// resumes is the end of a miss.
func (c *core) resumes(at int64, value uint64) {
	c.answer, c.has, c.asked = value, false, false
	c.clock = at
	c.wakes()
}

// access is what the worker calls for every operation. It answers what the
// core's own cache can answer while nothing can happen elsewhere.
func (c *core) access(a atomics.Access) uint64 {
	switch a.Op {
	case atomics.OpSpin:
		return c.spin(a)
	case atomics.OpLoad:
		if c.clock >= c.until && c.same > 2 && c.last == a.Word && !c.stale && c.s.doze > 0 {
			c.nap() // a loop without a spin hint
			c.looks, c.same = c.looks[:0], 0
		}
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

// spin passes the time of a spin hint. A worker that has done nothing else but
// look at what its cache has will see the same until it loses it: it dozes.
func (c *core) spin(a atomics.Access) uint64 {
	s := c.s
	cost := s.pause * int64(a.New)
	if a.New == 0 {
		cost = s.yield
	}
	c.clock += cost
	idle := !c.stale && len(c.looks) > 0
	if idle && s.doze > 0 && c.clock >= c.until {
		c.nap()
	} else if c.clock >= c.until {
		c.wakes()
		c.suspend()
	}
	c.looks, c.stale, c.same = c.looks[:0], false, 0
	return 0
}

// nap waits until a line that c has looked at is about to go, or for a while.
func (c *core) nap() {
	c.dozes = true
	for _, l := range c.looks {
		l.watchers = append(l.watchers, c)
	}
	c.ticket++
	c.s.push(event{at: c.clock + c.s.doze, kind: evCore, id: c.id, ticket: c.ticket})
	c.suspend()
}

// rouse ends a nap: the worker does by itself what it would have done until t.
func (c *core) rouse(t int64) {
	c.dozes = false
	for _, l := range c.looks {
		for i, w := range l.watchers {
			if w == c {
				l.watchers = append(l.watchers[:i], l.watchers[i+1:]...)
				break
			}
		}
	}
	if c.clock < t {
		c.resume(t)
	} else {
		c.wakes()
	}
}

// wake rouses the waiters that doze over l: all, or those of one cache.
func (s *Sim) wake(l *line, cache int) {
	for i := 0; i < len(l.watchers); {
		if c := l.watchers[i]; cache < 0 || c.cache == cache {
			c.rouse(s.now)
		} else {
			i++
		}
	}
}

// load answers a load from the store buffer or from the cache.
func (c *core) load(a atomics.Access) (v uint64, ok bool) {
	s := c.s
	for i := len(c.buffer) - 1; i >= 0; i-- {
		if c.buffer[i].Word == a.Word {
			c.clock += s.hit
			c.stale = true
			return c.buffer[i].New, true
		}
	}
	l := s.line(a.Word)
	if !l.holds(c.cache) {
		return 0, false
	}
	s.counts.Hits++
	c.clock += s.hit
	c.looked(l, a.Word)
	return a.Word.Get(), true
}

func (c *core) looked(l *line, w atomics.Word) {
	if c.last == w {
		c.same++
	} else {
		c.last, c.same = w, 0
	}
	for _, m := range c.looks {
		if m == l {
			return
		}
	}
	c.looks = append(c.looks, l)
}

// step does the pending operation of c at the simulator's time, as far as it goes
// at once, and lets the worker go on.
func (c *core) step() {
	s := c.s
	if c.dozes {
		c.rouse(s.now)
		return
	}
	c.clock = max(c.clock, s.now)
	if !c.has {
		c.resume(s.horizon())
		return
	}
	a := c.pending
	switch a.Op {
	case atomics.OpLoad:
		if v, ok := c.load(a); ok {
			c.answered(v)
			return
		}
		c.stale = true
		c.asked = true
		s.ask(&request{core: c, access: a, line: s.line(a.Word)})
	case atomics.OpStoreRelease:
		c.stale = true
		c.clock += s.store
		l := s.line(a.Word)
		if len(c.buffer) == 0 && l.owns(c.cache) {
			s.counts.Hits++
			s.apply(l, a)
		} else {
			c.buffer = append(c.buffer, a)
			c.fetch(a) // all of them at once, although they become visible in order
		}
		c.answered(0)
	default: // a locked instruction waits until the store buffer is empty
		c.stale = true
		if len(c.buffer) > 0 {
			c.fetch(a)
			return // drained comes back
		}
		l := s.line(a.Word)
		if l.owns(c.cache) {
			if l.locked > s.now { // by the other thread of the core
				c.clock = l.locked
				c.wakes()
				return
			}
			s.counts.Hits++
			c.instruct(l, a)
			return
		}
		if slices.Contains(c.fetching, l) {
			return // it is on its way
		}
		c.asked = true
		s.ask(&request{core: c, access: a, line: l, own: true})
	}
}

func (c *core) answered(v uint64) {
	c.answer, c.has = v, false
	c.resume(c.s.horizon())
}

// instruct does a locked instruction on a line that the core owns.
func (c *core) instruct(l *line, a atomics.Access) {
	s := c.s
	before := s.apply(l, a)
	s.tell("core %d: %v finds %d, leaves %d; the line is locked for %.1f ns", c.id, a.Op, before, a.Word.Get(), float64(s.rmw)/1000)
	l.locked = s.now + s.rmw
	c.resumes(s.now+s.rmw, before)
}

// fetch sends for the line of a store in the buffer, or of what waits behind it.
func (c *core) fetch(a atomics.Access) {
	s := c.s
	l := s.line(a.Word)
	if l.owns(c.cache) || slices.Contains(c.fetching, l) {
		return
	}
	c.fetching = append(c.fetching, l)
	s.ask(&request{core: c, access: a, line: l, own: true, store: true})
}

// fetched is called when a line is there that was sent for: the stores that are
// the oldest become visible.
func (c *core) fetched(l *line) {
	s := c.s
	c.fetching = slices.DeleteFunc(c.fetching, func(f *line) bool { return f == l })
	for len(c.buffer) > 0 {
		l := s.line(c.buffer[0].Word)
		if !l.owns(c.cache) {
			c.fetch(c.buffer[0]) // if it is not on its way
			return
		}
		s.apply(l, c.buffer[0])
		c.buffer = c.buffer[:copy(c.buffer, c.buffer[1:])]
	}
	if c.has && !c.asked && c.pending.Op != atomics.OpLoad && c.pending.Op != atomics.OpStoreRelease {
		c.clock = max(c.clock, s.now+s.fence)
		c.wakes()
	}
}

// spend passes time.
func (c *core) spend(ps int64) { c.clock += ps }

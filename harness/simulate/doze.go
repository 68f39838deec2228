//go:build systematic && simulate

package simulate

import (
	"slices"

	"locklab/atomics"
)

// Waiters that poll a line in their own cache doze until it is invalidated, and make all those
// polls in one step: one event per change. Workload.Exact disables it.
type dozing struct {
	looks []*line // lines read since its last spin hint, if it did nothing else
	stale bool    // it did something else
	same  int     // consecutive loads of one word
	last  atomics.Word
	dozes bool
	due   int64 // ps, when it wakes without an event
	timer int64 // ps, of its timer event; none without one
}

// longestDoze, in ps, bounds the delay of a waiter that gives up after some polls.
const longestDoze = 1_000_000

func (c *core) spin(a atomics.Access) uint64 {
	s := c.s
	cost := s.pause * int64(a.New)
	if a.New == 0 {
		cost = s.yield
	}
	c.clock += cost
	c.lag = 0               // later loads wait for it
	if c.clock >= c.until { // events elsewhere may happen in that time
		if !c.stale && len(c.looks) > 0 && s.dozing > 0 {
			c.doze()
		} else {
			c.wakes()
		}
		c.suspend()
	}
	c.looks, c.stale, c.same = c.looks[:0], false, 0
	return 0
}

func (c *core) napInLoop(a atomics.Access) {
	if c.clock >= c.until && c.same > 2 && c.last == a.Word && !c.stale && c.s.dozing > 0 {
		c.doze()
		c.suspend()
		c.looks, c.same = c.looks[:0], 0
	}
}

func (c *core) doze() {
	c.dozes = true
	for _, l := range c.looks {
		l.watchers = append(l.watchers, c)
	}
	c.event = none // pending events are void
	c.due = c.clock + c.s.dozing
	if c.timer == none {
		c.arm()
	}
}

func (c *core) arm() {
	c.timer = c.due
	c.s.at(c.due, evTimer, c.id)
}

// rings rearms the timer if c has started a new doze.
func (c *core) rings() {
	c.timer = none
	switch {
	case c.dozes && c.due > c.s.now:
		c.arm()
	case c.dozes:
		c.rouse(c.s.now, nil)
	}
}

// rouse ends a doze: the worker makes its polls until t. by, if not nil, has removed it.
func (c *core) rouse(t int64, by *line) {
	c.forget(by)
	c.dozes = false
	if c.clock < t {
		c.resume(t)
	} else {
		c.wakes()
	}
}

func (c *core) forget(but *line) {
	for _, l := range c.looks {
		if l != but {
			l.watchers = slices.DeleteFunc(l.watchers, func(d *core) bool { return c == d })
		}
	}
}

func (s *sim) wake(l *line, cache int) {
	for i := 0; i < len(l.watchers); {
		if c := l.watchers[i]; c.cache == cache {
			c.rouse(s.now, nil)
		} else {
			i++
		}
	}
}

// wakeAll rouses all that doze over l, in order; one that dozes again is appended.
func (s *sim) wakeAll(l *line) {
	for len(l.watchers) > 0 {
		all := l.watchers
		l.watchers, s.roused = s.roused[:0], nil
		for _, c := range all {
			c.rouse(s.now, l)
		}
		s.roused = all
	}
}

func (c *core) looked(l *line, w atomics.Word) {
	if c.last == w {
		c.same++
	} else {
		c.last, c.same = w, 0
	}
	if !slices.Contains(c.looks, l) {
		c.looks = append(c.looks, l)
	}
}

// sleep takes the token of a Parker. Without one the worker sleeps until [core.rouseSleeper].
func (c *core) sleep(a atomics.Access) uint64 {
	s := c.s
	c.works(s.rmw)
	if a.Word.Get() == 0 {
		s.sleepers[a.Word] = c
		c.event = none
		c.suspend()
	}
	a.Word.Set(0)
	return 1
}

// rouseSleeper makes a token, and wakes the sleeper if there is one. A wake-up takes the
// waker a quarter of the time until the sleeper runs.
func (c *core) rouseSleeper(a atomics.Access) uint64 {
	s := c.s
	before := a.Word.Get()
	c.works(s.rmw)
	a.Word.Set(1)
	if d := s.sleepers[a.Word]; d != nil {
		delete(s.sleepers, a.Word)
		d.clock = c.clock + s.wakeUp
		d.wakes()
		c.works(s.wakeUp / 4)
	}
	c.wakes() // the horizon may be nearer now
	c.suspend()
	return before
}

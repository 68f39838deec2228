//go:build systematic && simulate

package simulate

import "locklab/atomics"

// Waiters that poll a line in their own cache see the same value until it is
// invalidated. They doze until then, and make up for all those polls in one step:
// an event for each change instead of one for each poll. Workload.Exact is without.
type dozing struct {
	looks []*line // what it has read since its last spin hint, and nothing else
	stale bool    // it did something else
	same  int     // loads in a row of one word
	last  atomics.Word
	dozes bool
	due   int64 // ps, when it wakes by itself
	timer int64 // ps, of its timer event; none without
}

// longestDoze is in ps. A waiter may lose patience after so many polls, and would be
// late by that.
const longestDoze = 1_000_000

// spin passes the time of spin hints, or of a yield.
func (c *core) spin(a atomics.Access) uint64 {
	s := c.s
	cost := s.pause * int64(a.New)
	if a.New == 0 {
		cost = s.yield
	}
	c.clock += cost
	c.lag = 0 // later loads wait for it
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

// napInLoop is the nap of a loop that polls without a spin hint.
func (c *core) napInLoop(a atomics.Access) {
	if c.clock >= c.until && c.same > 2 && c.last == a.Word && !c.stale && c.s.doze > 0 {
		c.nap()
		c.looks, c.same = c.looks[:0], 0
	}
}

// nap waits until a line that c has looked at is about to go, or for a while.
func (c *core) nap() {
	c.dozes = true
	for _, l := range c.looks {
		l.watchers = append(l.watchers, c)
	}
	c.ticket++ // its other events are void
	c.due = c.clock + c.s.doze
	if c.timer == none {
		c.arm()
	}
	c.suspend()
}

// arm sets the one timer of c.
func (c *core) arm() {
	c.timer = c.due
	c.s.at(c.due, evTimer, c.id)
}

// rings is the timer of c. If it dozed anew since it was armed, it is armed anew.
func (c *core) rings() {
	c.timer = none
	switch {
	case c.dozes && c.due > c.s.now:
		c.arm()
	case c.dozes:
		c.rouse(c.s.now)
	}
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
func (s *sim) wake(l *line, cache int) {
	for i := 0; i < len(l.watchers); {
		if c := l.watchers[i]; cache < 0 || c.cache == cache {
			c.rouse(s.now)
		} else {
			i++
		}
	}
}

// looked notes a load that the cache answered.
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

//go:build systematic && simulate

package simulate

// A core runs ahead of a load that misses, as far as its reorder buffer reaches, and
// comes to later loads while the first is still out: independent misses overlap
// (Chou, Fahs and Abraham, "Microarchitecture Optimizations for Exploiting
// Memory-Level Parallelism", ISCA 2004). Real code of locks gets its values in
// order here, so the overlap is set off afterwards: a later miss has been under way
// since the core would have come to it, if its line was then what it is now.
//
// What ends it: a locked instruction and a spin hint, which later loads wait for,
// and a branch that is not foreseen, which is the end of a wait unless it took as
// many polls as the one before.
type lookahead struct {
	issued  int64 // ps, when the last load that missed was
	arrived int64 // ps, when its line came
	lag     int64 // ps between the two; 0 if what follows waits for it
	polls   int   // spin hints of this wait
	before  int   // and of the one before
}

// ahead returns for how long a load that misses now has been under way already.
func (c *core) ahead(l *line) (early int64) {
	now := c.s.now
	c.issued = now
	foreseen := c.polls == 0 || c.polls == c.before
	c.waited()
	if c.s.reach > 0 && c.lag > 0 && foreseen && now-c.arrived <= c.s.reach {
		c.issued = min(now, max(now-c.lag, l.changed))
	}
	return now - c.issued
}

// came is when the line of a load is there.
func (c *core) came() { c.arrived, c.lag = c.s.now, c.s.now-c.issued }

// polled is a spin hint: a poll was in vain.
func (c *core) polled() {
	c.lag = 0
	c.polls++
}

// waited is the end of a wait.
func (c *core) waited() {
	if c.polls > 0 {
		c.before, c.polls = c.polls, 0
	}
}

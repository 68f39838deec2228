//go:build systematic && simulate

package simulate

// A core runs ahead of a load that misses, as far as its reorder buffer reaches, and
// comes to later loads while the first is still out: independent misses overlap
// (Chou, Fahs and Abraham, "Microarchitecture Optimizations for Exploiting
// Memory-Level Parallelism", ISCA 2004). Real code of locks gets its values in
// order here, so the overlap is set off afterwards: a later miss has been under way
// since the core would have come to it, if its line was then what it is now.
//
// What ends it: a locked instruction and a spin hint, which later loads wait for.
// Every branch counts as foreseen, the end of a wait too: the figures of locks on a
// Zen 4 were 1.36 off with it, and 1.53 without overlap past the end of a wait.
type lookahead struct {
	issued  int64 // ps, when the last load that missed was
	arrived int64 // ps, when its line came
	lag     int64 // ps between the two; 0 if what follows waits for it
}

// ahead returns for how long a load that misses now has been under way already.
func (c *core) ahead(l *line) (early int64) {
	now := c.s.now
	c.issued = now
	if c.s.reach > 0 && c.lag > 0 && now-c.arrived <= c.s.reach {
		c.issued = min(now, max(now-c.lag, l.changed))
	}
	return now - c.issued
}

// came is when the line of a load is there.
func (c *core) came() { c.arrived, c.lag = c.s.now, c.s.now-c.issued }

//go:build systematic && simulate

package simulate

// A core runs ahead of a load that misses, within its reorder buffer, so independent misses
// overlap (Chou, Fahs and Abraham, "Microarchitecture Optimizations for Exploiting
// Memory-Level Parallelism", ISCA 2004). The code gets its values in order, so the overlap is
// subtracted afterwards: a later miss counts as begun when the core would have reached it, if
// its line has not changed.
//
// Locked instructions and spin hints end the overlap. Every branch counts as predicted, also
// the end of a wait: figures on a Zen 4 differed by a factor of 1.36 with it, and 1.53
// without.
type lookahead struct {
	issued  int64 // ps, time of the last load that missed
	arrived int64 // ps, when its line came
	lag     int64 // ps between the two; 0 if later loads wait for it
}

func (c *core) ahead(l *line) (early int64) {
	now := c.s.now
	c.issued = now
	if c.s.reach > 0 && c.lag > 0 && now-c.arrived <= c.s.reach {
		c.issued = min(now, max(now-c.lag, l.changed))
	}
	return now - c.issued
}

func (c *core) came() { c.arrived, c.lag = c.s.now, c.s.now-c.issued }

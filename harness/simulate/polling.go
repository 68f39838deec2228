//go:build systematic && simulate

package simulate

import "locklab/atomics"

// Most of what a waiter does is to load one word and to pass the time of a spin hint,
// again and again: PollWhile of package atomics. The model does that without the
// worker, which sleeps in one switch of coroutines until it is over, and in one
// addition for as many polls as nothing can come between. Its figures are those of the
// loads and hints one by one (TestPolls).
type polling struct {
	phase pollPhase
	word  atomics.Word
	value uint64 // polled as long as it is that
	left  int    // polls, with the one under way
	found int    // polls that found value
	got   uint64 // what the last one found
}

// A pollPhase is what is next for a waiter in PollWhile.
type pollPhase uint8

const (
	polled pollPhase = iota // nothing: it is not in PollWhile
	loads                   // the load
	awaits                  // its answer
	hints                   // the time between two polls is over
)

// poll is PollWhile of the worker that runs.
func (s *sim) poll(w atomics.Word, v uint64, n int) (last uint64, found int) {
	c := s.running
	if c == nil { // the lock is made, or looked at
		if last = w.Get(); last == v {
			found = n
		}
		return last, found
	}
	c.polling = polling{phase: loads, word: w, value: v, left: n}
	if !c.polls() {
		c.suspend()
	}
	return c.got, c.found
}

// polls goes on with the polls of c, until they are over or something else must happen
// first.
func (c *core) polls() (over bool) {
	for {
		switch c.phase {
		case loads:
			c.skips()
			v, ok := c.pollsOnce()
			if !ok {
				c.phase = awaits
				return false
			}
			c.answer = v
			fallthrough
		case awaits:
			if c.got = c.answer; c.got != c.value {
				c.phase = polled
				return true
			}
			c.found++
			c.phase = hints
			if c.passes(c.s.pause) {
				return false
			}
			fallthrough
		case hints:
			c.waited()
			c.phase = loads
			if c.left--; c.left == 0 {
				c.phase = polled
				return true
			}
		}
	}
}

// pollsOnce loads the word, or has an event of its own for it.
func (c *core) pollsOnce() (v uint64, ok bool) {
	a := atomics.Access{Op: atomics.OpLoad, Word: c.word}
	if c.clock < c.until {
		if v, ok := c.load(a); ok {
			return v, true
		}
	}
	c.pending, c.has = a, true
	c.wakes()
	return 0, false
}

// skips makes all polls at once that find the value in the core's own cache before
// anything can happen elsewhere, but for the last.
func (c *core) skips() {
	s := c.s
	n := min(int64(c.left)-1, (c.until-1-c.clock)/max(s.hit+s.pause, 1))
	if n <= 0 || len(c.buffer) > 0 || c.slowed() || c.word.Get() != c.value || !s.line(c.word, c).holds(c.cache) {
		return
	}
	c.left -= int(n)
	c.found += int(n)
	c.clock += n * (s.hit + s.pause)
	c.lag, c.last = 0, c.word
	s.counts.Hits += n
	c.waited()
}

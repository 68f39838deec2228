//go:build systematic && simulate

package simulate

import "locklab/atomics"

// A waiter mostly loads one word and passes a spin hint: PollWhile of package atomics. The
// model polls without the worker, as many times at once as nothing can interrupt, with the
// figures of single loads (TestPolls).
type polling struct {
	phase pollPhase
	word  atomics.Word
	value uint64 // polling continues while the word has it
	left  int    // remaining polls, including the current one
	found int    // polls that found value
	got   uint64 // value found by the last poll
}

type pollPhase uint8

const (
	polled pollPhase = iota // nothing: it is not in PollWhile
	loads                   // the load
	awaits                  // its answer
	hints                   // the time between two polls is over
)

func (s *sim) poll(w atomics.Word, v uint64, n int) (last uint64, found int) {
	c := s.running
	if c == nil { // the lock is being made or examined
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
// anything can happen elsewhere, except the last.
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
	c.waited()
}

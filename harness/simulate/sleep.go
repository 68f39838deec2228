//go:build systematic && simulate

package simulate

import (
	"fmt"

	"locklab/atomics"
)

// sleep takes the token of a Parker. Without one the worker sleeps until [core.rouseSleeper].
func (c *core) sleep(a atomics.Access) uint64 {
	s := c.s
	if s.wakeUp == 0 {
		s.fail(fmt.Errorf("simulate: worker %d sleeps, and Workload.Wake is 0", c.id))
	}
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

//go:build systematic && simulate

package simulate

import (
	"slices"

	"locklab/atomics"
)

// A storeBuffer keeps stores that others do not see yet. They become visible in order (TSO:
// Sewell et al., "x86-TSO", CACM 53(7), 2010); all lines are requested at once.
type storeBuffer struct {
	buffer   []atomics.Access
	fetching []*line // requested for them
}

func (b *storeBuffer) forward(w atomics.Word) (v uint64, ok bool) {
	for _, a := range slices.Backward(b.buffer) {
		if a.Word == w {
			return a.New, true
		}
	}
	return 0, false
}

// store executes a store at once if the core owns the line and no earlier store is
// pending. Otherwise it puts it into the buffer.
func (c *core) store(a atomics.Access) {
	s := c.s
	c.works(s.store)
	l := s.line(a.Word, c)
	if len(c.buffer) == 0 && l.owns(c.cache) {
		s.apply(l, c, a)
		return
	}
	c.buffer = append(c.buffer, a)
	c.fetch(a)
}

func (c *core) fetch(a atomics.Access) {
	s := c.s
	l := s.line(a.Word, c)
	if l.owns(c.cache) || slices.Contains(c.fetching, l) {
		return
	}
	c.fetching = append(c.fetching, l)
	s.ask(s.request(request{core: c, access: a, line: l, own: true, store: true}))
}

// fetched is called when a requested line arrives: the oldest stores become visible. A
// locked instruction that waited for the last of them continues after a fence.
func (c *core) fetched(l *line) {
	s := c.s
	c.fetching = slices.DeleteFunc(c.fetching, func(f *line) bool { return f == l })
	for len(c.buffer) > 0 {
		l := s.line(c.buffer[0].Word, c)
		if !l.owns(c.cache) {
			c.fetch(c.buffer[0]) // if it is not on its way
			return
		}
		s.apply(l, c, c.buffer[0])
		c.buffer = c.buffer[:copy(c.buffer, c.buffer[1:])]
	}
	if c.has && !c.asked && c.pending.Op != atomics.OpLoad && c.pending.Op != atomics.OpStoreRelease {
		c.clock = max(c.clock, s.now+s.fence)
		c.wakes()
	}
}

//go:build systematic && simulate

package simulate

import (
	"fmt"
	"io"
)

// Duel tells what happens when two threads compare and swap one word in the same
// instant, with a copy of its line in both caches.
func Duel(m *Machine, a, b int, seed uint64, out io.Writer) {
	s := newSim(m, seed)
	s.log = out
	var ball cell
	for i, thread := range []int{a, b} {
		s.newCore(i, thread, func(c *core) {
			c.spend(int64(i) * 200_000)
			ball.v.Load()
			c.clock = 1_000_000 // the same instant
			ball.v.CompareAndSwap(0, uint64(i)+1)
		})
	}
	s.simulate()
	fmt.Fprintln(out, "the word is", ball.v.Load())
}

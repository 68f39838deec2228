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
	var found [2]string
	for i := range max(a, b) + 1 {
		s.cores = append(s.cores, s.newCore(i, i, func(c *core) {
			if i != a && i != b {
				return
			}
			if i == b {
				c.spend(200_000)
			}
			ball.v.Load()
			c.clock = 1_000_000 // the same instant
			won := ball.v.CompareAndSwap(0, uint64(i)+1)
			k := 0
			if i == b {
				k = 1
			}
			found[k] = fmt.Sprintf("core %d: CompareAndSwap(0, %d) = %t, done at %.1f ns", i, i+1, won, float64(c.clock)/1000)
		}))
	}
	s.simulate()
	fmt.Fprintln(out, found[0])
	fmt.Fprintln(out, found[1])
	fmt.Fprintln(out, "the word is", ball.v.Load())
}

//go:build systematic && simulate

package simulate

// OneWay is what a ping-pong by compare-and-swap between two threads measures
// on m, per hop in ns: the benchmark by which machines are described.
func OneWay(m *Machine, a, b int, seed uint64) float64 {
	const hops = 400
	s := newSim(m, seed)
	var ball cell
	var begin, end int64
	for i := range m.Threads() {
		if i > max(a, b) {
			break
		}
		s.cores = append(s.cores, s.newCore(i, i, func(c *core) {
			me := -1
			if i == a {
				me = 0
			} else if i == b {
				me = 1
			}
			for k := 0; me >= 0 && k < hops; k++ {
				for !ball.v.CompareAndSwap(uint64(2*k+me), uint64(2*k+me+1)) {
				}
				if k == hops/4 {
					begin = c.clock
				}
				end = c.clock
			}
		}))
	}
	s.simulate()
	return float64(end-begin) / 1000 / (2 * (hops - hops/4 - 1))
}

//go:build systematic && simulate

package simulate_test

import (
	"testing"

	"locklab/harness/simulate"
)

// TestPingPong: the original benchmark has its latencies on each machine. Transfer is less
// than a hop, which includes the instruction.
func TestPingPong(t *testing.T) {
	for _, m := range simulate.List() {
		for i, c := range []struct {
			where string
			other int // thread
			there bool
		}{
			{"other thread", 1, m.SMT > 1},
			{"cluster", m.SMT, m.Cores > 1},
			{"socket", m.SMT * m.Cores, m.Clusters > 1},
			{"other socket", m.SMT * m.Cores * m.Clusters, m.Sockets > 1},
		} {
			if !c.there {
				continue
			}
			got, want := simulate.OneWay(m, 0, c.other, 1), m.Transfer[i]
			t.Logf("%-15s %-12s %6.1f ns, published %6.1f", m.Name, c.where, got, want)
			if bound := 1.25; i > 0 && max(got/want, want/got) > bound {
				t.Errorf("%s, %s: a hop takes %.1f ns; published are %.1f, and the bound is a factor of %v", m.Name, c.where, got, want, bound)
			}
		}
	}
}

//go:build systematic && simulate

package simulate_test

import (
	"slices"
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"

	"locklab/spinlock/lab"
)

// TestLabLocks compares locks of the lab with their twins: conclusions need similar behaviour.
func TestLabLocks(t *testing.T) {
	m, err := simulate.Named("broadwell-2x22")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lock, twin string
		bound      float64 // factor to either side
	}{
		{"tas", "tas", 1.15},
		{"tas-xchg", "tas", 1.15},
		{"ttas", "ttas", 1.15},
		{"ticket", "ticket", 1.2},
		{"ticket", "ticket_spinlock", 1.5},
	} {
		v := lab.Suite[slices.IndexFunc(lab.Suite, func(v *harness.Variant) bool { return v.Name == c.lock })]
		twin := simulate.Twins[slices.IndexFunc(simulate.Twins, func(t simulate.Twin) bool { return t.Name == c.twin })]
		for _, workers := range []int{8, 24, 64} {
			for _, think := range []float64{100, 1000} {
				w := simulate.Workload{Workers: workers, Hold: think / 5, Think: think, Wait: harness.WaitPause, Turns: 1500, Warm: 200, Seed: 1}
				own, err := simulate.Run(m, w, v.Local)
				if err != nil {
					t.Fatal(err)
				}
				other, err := simulate.Run(m, w, twin.Local)
				if err != nil {
					t.Fatal(err)
				}
				ratio := own.PerTurn / other.PerTurn
				t.Logf("%-9s over twin of %-16s %2d workers, think %4.0f ns: %7.1f / %7.1f = %.2f", c.lock, c.twin, workers, think, own.PerTurn, other.PerTurn, ratio)
				if max(ratio, 1/ratio) > c.bound {
					t.Errorf("%s, %d workers, think %v ns: %.2f of the twin of %s; the bound is %.2f", c.lock, workers, think, ratio, c.twin, c.bound)
				}
			}
		}
	}
}

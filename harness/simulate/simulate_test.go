//go:build systematic && simulate

package simulate_test

import (
	"testing"

	"locklab/harness"
	"locklab/harness/simulate"
	"locklab/spinlock/lab"
)

// TestRepeats runs every spin lock twice with one seed.
func TestRepeats(t *testing.T) {
	m, err := simulate.Named("skylake-8x32")
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range lab.Suite {
		if v.Status == harness.Broken || v.Status == harness.Historical || v.Traits.ReadWrite || v.Name == "ttas-backoff" || v.Name == "peterson" {
			continue
		}
		t.Run(v.Name, func(t *testing.T) {
			w := simulate.Workload{Workers: 8, Lines: 1, Hold: 10, Think: 10, Wait: harness.WaitPause, Turns: 400, Warm: 50, Seed: 1}
			a, err := simulate.Run(m, w, v.Local)
			if err != nil {
				t.Fatal(err)
			}
			b, err := simulate.Run(m, w, v.Local)
			if err != nil || a != b {
				t.Errorf("%v, %v\nthen %v", err, a, b)
			}
		})
	}
}

//go:build systematic

package spinlock_test

import (
	"testing"

	"locklab/harness"
	"locklab/internal/explore"
	"locklab/spinlock"
)

// TestSystematic explores every lock of the suite.
func TestSystematic(t *testing.T) {
	explore.Suite{
		Locks: spinlock.Suite,
		// A worker that malthusian has set aside comes back ahead of a queue only
		// after several turns.
		More: map[string][]explore.Plan{"malthusian": {
			{Use: explore.Use{Turns: []int{3, 2, 2}, Wait: harness.WaitPause}, Limits: explore.Limits{Preemptions: 2}},
		}},
	}.Run(t)
}

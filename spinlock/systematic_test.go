//go:build systematic

package spinlock_test

import (
	"testing"

	"locklab/harness"
	"locklab/internal/explore"
	"locklab/spinlock/lab"
)

// longQueue has a worker behind a sleeping one behind another, and one that comes back.
var longQueue = []explore.Plan{{
	Use:    explore.Use{Acquisitions: []int{1, 2, 1, 1}, Nodes: []int{0, 1, 0, 1}, Wait: harness.WaitPark},
	Limits: explore.Limits{Preemptions: 2},
}}

func TestSystematic(t *testing.T) {
	explore.Suite{
		Locks: lab.Suite,
		// A worker set aside comes back ahead of a queue only after several acquisitions.
		More: map[string][]explore.Plan{
			"malthusian": {{Use: explore.Use{Acquisitions: []int{3, 2, 2}, Wait: harness.WaitPause}, Limits: explore.Limits{Preemptions: 2}}},
			"mcs":        longQueue,
			"clh":        longQueue,
			"cohort":     longQueue,
		},
	}.Run(t)
}

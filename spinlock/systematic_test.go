//go:build systematic

package spinlock_test

import (
	"maps"
	"slices"
	"testing"
	"time"

	"locklab/harness"
	"locklab/internal/explore"
	"locklab/spinlock"
)

// unexplored says of the locks that TestSystematic leaves out why: those that
// block in something else than an atomics.Parker, or depend on time.
var unexplored = map[string]string{}

// A plan is how a lock is used, and how far the schedules are explored.
type plan struct {
	use    explore.Use
	limits explore.Limits
}

// plans have two workers who come again, so that what an acquisition leaves
// behind meets the next one, and three workers, so that there is somebody in the
// middle of a queue. Waiters poll, or they sleep if the lock can wake them.
var plans = []plan{
	{explore.Use{Turns: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause}, explore.Limits{Preemptions: 3, Reorderings: 2}},
	{explore.Use{Turns: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPark}, explore.Limits{Preemptions: 3, Reorderings: 2}},
	{explore.Use{Turns: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause, Try: true}, explore.Limits{Preemptions: 3, Reorderings: 1}},
	{explore.Use{Turns: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, explore.Limits{Preemptions: 3, Reorderings: 1}},
	{explore.Use{Turns: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, explore.Limits{Preemptions: 3, Reorderings: 1}},
	{explore.Use{Turns: []int{2, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, explore.Limits{Preemptions: 2, Reorderings: 1}},
}

// morePlans are for what only more turns bring about: a worker set aside by
// malthusian comes back ahead of a queue after several.
var morePlans = map[string][]plan{
	"malthusian": {{explore.Use{Turns: []int{3, 2, 2}, Wait: harness.WaitPause}, explore.Limits{Preemptions: 2}}},
}

// TestSystematic explores every lock of the suite. A Failure ends with a line of
// decisions, which explore.Replay repeats.
func TestSystematic(t *testing.T) {
	for _, v := range spinlock.Suite {
		t.Run(v.Name, func(t *testing.T) {
			if why, ok := unexplored[v.Name]; ok {
				t.Skip("not explored: " + why)
			}
			for _, p := range slices.Concat(plans, morePlans[v.Name]) {
				if most := v.Traits.MaxWorkers; most > 0 && len(p.use.Turns) > most {
					continue
				}
				start := time.Now()
				r := explore.Explore(explore.Lock(v, p.use), p.limits)
				t.Logf("turns %v, wait=%v, try=%t, %d preemptions, %d reorderings: %d schedules, %d states, %v",
					p.use.Turns, p.use.Wait, p.use.Try, p.limits.Preemptions, p.limits.Reorderings,
					r.Schedules, r.States, time.Since(start).Round(time.Millisecond))
				if wrong := v.Status == harness.Broken; wrong && r.Failure != nil {
					return
				}
				if r.Failure != nil || !r.Complete {
					t.Fatalf("complete %t, %v", r.Complete, r.Failure)
				}
			}
			if v.Status == harness.Broken {
				t.Error("it is said to be broken, and passes: say in unexplored why")
			}
		})
	}
}

// TestUnexplored checks that no reason is left behind.
func TestUnexplored(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(unexplored)) {
		if unexplored[name] == "" || !slices.ContainsFunc(spinlock.Suite, func(v *harness.Variant) bool { return v.Name == name }) {
			t.Errorf("%q is no lock of the suite, or there is no reason to leave it out", name)
		}
	}
}

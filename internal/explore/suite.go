//go:build systematic

package explore

import (
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"locklab/harness"
)

// A Plan is the use of a lock with the limits of its exploration.
type Plan struct {
	Use    Use
	Limits Limits
}

// Plans have two workers that come again, so that one acquisition meets the effects of
// the previous one. They also have three workers, so that one is in the middle of a
// queue. Waiters poll, or sleep if the lock can wake them. In the last plan a worker
// comes back, and another sleeps behind it, before its previous sleeper has woken.
var Plans = []Plan{
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause}, Limits{Preemptions: 3, Reorderings: 2}},
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPark}, Limits{Preemptions: 3, Reorderings: 2}},
	{Use{Acquisitions: []int{2, 2}, Nodes: []int{0, 1}, Wait: harness.WaitPause, Try: true}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{1, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits{Preemptions: 3, Reorderings: 1}},
	{Use{Acquisitions: []int{2, 1, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPause}, Limits{Preemptions: 2, Reorderings: 1}},
	{Use{Acquisitions: []int{2, 2, 1}, Nodes: []int{0, 1, 0}, Wait: harness.WaitPark}, Limits{Preemptions: 2, Reorderings: 1}},
}

// A Suite is the locks of a package with their special cases.
type Suite struct {
	Locks []*harness.Variant

	// Unexplored gives the reasons for omitted locks: they block without an
	// atomics.Parker, or depend on time.
	Unexplored map[string]string

	// More has further plans for locks by name.
	More map[string][]Plan
}

// Run explores every lock with every plan it has workers for. A Failure ends with a line
// of decisions for [Replay]. A lock with status Broken must fail.
func (s Suite) Run(t *testing.T) {
	for _, name := range slices.Sorted(maps.Keys(s.Unexplored)) {
		if s.Unexplored[name] == "" || !slices.ContainsFunc(s.Locks, func(v *harness.Variant) bool { return v.Name == name }) {
			t.Errorf("%q is no lock of the suite, or there is no reason to leave it out", name)
		}
	}
	for _, v := range s.Locks {
		t.Run(v.Name, func(t *testing.T) {
			if why, ok := s.Unexplored[v.Name]; ok {
				t.Skip("not explored: " + why)
			}
			if err := s.explore(t, v); err != nil {
				t.Error(err)
			}
		})
	}
}

func (s Suite) explore(t *testing.T, v *harness.Variant) error {
	for _, p := range slices.Concat(Plans, s.More[v.Name]) {
		if most := v.Traits.MaxWorkers; most > 0 && len(p.Use.Acquisitions) > most {
			continue
		}
		start := time.Now()
		r := Explore(Lock(v, p.Use), p.Limits)
		t.Logf("acquisitions %v, wait=%v, try=%t, %d preemptions, %d reorderings: %d schedules, %d states, %v",
			p.Use.Acquisitions, p.Use.Wait, p.Use.Try, p.Limits.Preemptions, p.Limits.Reorderings,
			r.Schedules, r.States, time.Since(start).Round(time.Millisecond))
		switch {
		case r.Failure != nil && v.Status == harness.Broken:
			return nil
		case r.Failure != nil:
			return r.Failure
		case !r.Complete:
			return fmt.Errorf("%s: not all schedules of %v were explored", v.Name, p.Use.Acquisitions)
		}
	}
	if v.Status == harness.Broken {
		return fmt.Errorf("%s is said to be broken, and passes: say in Unexplored why", v.Name)
	}
	return nil
}

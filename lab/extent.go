package lab

import (
	"slices"
	"strings"
	"time"

	"locklab/harness"
)

// An extent is how much of the default choice a run measures. It is kept with the flags of
// a run, so that a resumed run has the same cases.
type extent string

const (
	wholeRun extent = ""      // all conditions, or what the flags ask for
	briefRun extent = "brief" // run without flags: the least and the greatest contention, no readers
	quickRun extent = "quick" // run --quick: the same, and by default only local locks whose waiters sleep
)

// The budgets of a brief and of a quick run. Servers start and warm up before them.
const (
	briefBudget = 100 * time.Second
	quickBudget = 20 * time.Second
)

// setExtent chooses the extent and the budget of a new run.
func (o *runOptions) setExtent() {
	_, all := o.whole()
	switch {
	case o.quick:
		o.extent = quickRun
		if o.budget == 0 && o.rounds == 0 {
			o.budget = quickBudget
		}
	case o.locks == defaultLocks && all && !o.particular() && o.budget == 0 && o.rounds == 0 && !o.hardware && !o.chaos:
		o.extent, o.budget = briefRun, briefBudget
	}
}

// sleepers returns the local locks for services: their waiters sleep.
func sleepers(locks []*harness.Variant) []*harness.Variant {
	return slices.DeleteFunc(slices.Clone(locks), func(v *harness.Variant) bool {
		return v.Local == nil || v.Family != harness.Blocking || v.Status == harness.Control || v.Traits.ReadWrite
	})
}

// whole reports whether the locks are the default choice or all, possibly with exceptions.
// Such locks are measured under all conditions. few is set for the default choice, which
// has fewer cases.
func (o runOptions) whole() (few, whole bool) {
	first, _, _ := strings.Cut(o.locks, ",")
	return first == defaultLocks, first == defaultLocks || first == "all"
}

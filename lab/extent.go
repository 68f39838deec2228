package lab

import (
	"strings"
	"time"

	"locklab/harness"
)

// An extent is how much of the default choice a run measures; a resumed run keeps it.
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

func sleepers(locks []*harness.Variant) []*harness.Variant {
	return filter(locks, func(v *harness.Variant) bool {
		return v.Local != nil && v.Family == harness.Blocking && v.Status != harness.Control && !v.Traits.ReadWrite
	})
}

// whole reports whether locks are the default choice (few) or all, perhaps with exceptions:
// these are measured under all conditions.
func (o runOptions) whole() (few, whole bool) {
	first, _, _ := strings.Cut(o.locks, ",")
	return first == defaultLocks, first == defaultLocks || first == "all"
}

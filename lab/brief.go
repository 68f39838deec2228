package lab

import (
	"reflect"
	"strings"
	"time"

	"locklab/harness"
)

// The budgets of a run without flags and of --quick. Servers start and warm up before them.
const (
	briefBudget = 100 * time.Second
	quickBudget = 20 * time.Second
)

// setBrief decides from the flags whether the run is brief, and sets its budget. It must be
// called before a plan, and before the budget of a resumed run is dropped.
func (o *runOptions) setBrief() {
	free := o.budget == 0 && o.rounds == 0
	o.brief = o.quick || free && o.locks == defaultLocks && !o.choosesConditions() && !o.hardware && !o.chaos
	switch {
	case !o.brief || !free:
	case o.quick:
		o.budget = quickBudget
	default:
		o.budget = briefBudget
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

func (o runOptions) hasDefaultConditions() bool {
	_, whole := o.whole()
	return whole && !o.brief && !o.choosesConditions()
}

func (o runOptions) choosesConditions() bool {
	return !reflect.DeepEqual(o.axes, axes{}) || o.duration > 0 || o.plain || o.Ranks > 1
}

package judge

import (
	"slices"
	"strings"

	"locklab/harness/oracle"
	"locklab/harness/result"
)

// An Exclusion is the reason why a lock does not compete, such as a violation or its status.
type Exclusion struct {
	Lock result.Lock

	Violation *oracle.Violation // the first one; nil without any
	Violated  int               // results with a violation
	Results   int               // all

	Lacks []result.Guarantee
	Class result.Class // the class without the required guarantees
}

// Exclusions returns the locks of the run that no decision may name, by name.
func Exclusions(run *result.Run) (out []Exclusion) {
	broken := Violations(run)
	for _, rs := range result.GroupBy(run.Results, lockName) {
		lock, name := rs[0].Lock, rs[0].Lock.Name
		x := Exclusion{Lock: lock, Violated: len(broken[name]), Results: len(rs)}
		if lock.Traits.Needs != "" && x.Violated == 0 && correct(lock) {
			x.Class = result.ClassOf(run.Faults, name)
			x.Lacks = Lacking(x.Class, run.Require)
		}
		if x.Violated > 0 {
			x.Violation = &broken[name][0].Violations[0]
		}
		if x.Violated > 0 || !correct(lock) || len(x.Lacks) > 0 {
			out = append(out, x)
		}
	}
	slices.SortFunc(out, func(a, b Exclusion) int { return strings.Compare(a.Lock.Name, b.Lock.Name) })
	return out
}

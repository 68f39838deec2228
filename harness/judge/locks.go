package judge

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

const (
	Lesser GateVerdict = "worse" // significant, by more than the margin
	Unsafe GateVerdict = "broke a promise"
)

// CompareLocks compares the other locks of run with the lock called to, within a round. It
// wraps harness.ErrUsage without a comparable case.
func CompareLocks(run *result.Run, to string, o CompareOptions) (*Comparison, error) {
	wanted := o.Locks
	o.Locks = func(l result.Lock) bool { return l.Name != to && (wanted == nil || wanted(l)) }
	if !slices.ContainsFunc(run.Results, func(r *result.Result) bool { return r.Lock.Name == to }) {
		return nil, fmt.Errorf("%w: the run has no result of %s to compare the others with", harness.ErrUsage, to)
	}
	if !slices.ContainsFunc(run.Results, func(r *result.Result) bool { return o.Locks(r.Lock) }) {
		return nil, fmt.Errorf("%w: the run has nothing but %s to compare", harness.ErrUsage, to)
	}
	next := *run
	if next.Manifest.Pair == "" { // its locks were measured in the same rounds
		next.Manifest.Pair = "locks"
	}
	c, err := Compare(inPlaceOf(&next, to), &next, o)
	if err != nil {
		return nil, err
	}
	c.To = to
	for i := range c.Rows {
		switch r := &c.Rows[i]; {
		case r.Verdict == Regressed && r.Points[1].Broke:
			r.Verdict = Unsafe
		case r.Verdict == Regressed:
			r.Verdict = Lesser
		}
	}
	return c, nil
}

func inPlaceOf(run *result.Run, to string) *result.Run {
	out := &result.Run{Manifest: run.Manifest}
	for _, rs := range result.GroupBy(run.Results, func(r *result.Result) string { return r.Workload.Name() }) {
		locks := result.GroupBy(rs, lockName)
		for _, r := range rs {
			if r.Lock.Name != to {
				continue
			}
			for _, of := range locks {
				as := *r
				as.Lock = of[0].Lock
				out.Results = append(out.Results, &as)
			}
		}
	}
	out.Manifest.Lost, out.Manifest.Cases = nil, 0 // its rounds show the missing ones
	return out
}

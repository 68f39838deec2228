package judge

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// relative returns metrics whose figures are ratios to a reference lock in the same run, round
// and workload, as [Pairs] are: the machine's slowness on a day affects both. The reference is the first of to
// that the round has; local locks have local references. A round without a reference, or with
// a broken promise of it, has no figure. The error wraps harness.ErrUsage if no round has one.
func relative(metrics []*result.Metric, runs []*result.Run, to []string) (out []*result.Metric, err error) {
	references := make(map[*result.Result]*result.Result)
	for _, run := range runs {
		pair(references, run, to)
	}
	if len(references) == 0 {
		return nil, fmt.Errorf("%w: no run has a round of %s beside one of another lock with the same workload", harness.ErrUsage, numfmt.List(to, len(to)))
	}
	for _, g := range metrics {
		m := *g
		m.Unit = "ratio"
		m.Doc = strings.TrimSpace(m.Doc + "; as a ratio to that of " + numfmt.List(to, len(to)))
		m.Read = func(r *result.Result) (x result.Reading) {
			if ref := references[r]; ref != nil {
				if x.Value, x.Known = blockRatio(r, ref, g, true); !x.Known {
					a, b := g.Read(r), g.Read(ref)
					x.Value, x.Known = a.Value/b.Value, a.Known && b.Known && !(a.Bound && b.Bound) && b.Value > 0
				}
			}
			return x
		}
		out = append(out, &m)
	}
	return out, nil
}

func pair(references map[*result.Result]*result.Result, run *result.Run, to []string) {
	type place struct {
		remote   bool
		workload string
		round    int
	}
	at := func(r *result.Result) place { return place{r.Lock.Traits.Needs != "", r.Workload.Name(), r.Round} }
	found, broke := make(map[place]*result.Result), Violations(run)
	for _, name := range slices.Backward(to) { // the first one wins
		for _, r := range run.Results {
			if r.Lock.Name == name && broke[name] == nil {
				found[at(r)] = r
			}
		}
	}
	for _, r := range run.Results {
		if ref := found[at(r)]; ref != nil && !slices.Contains(to, r.Lock.Name) {
			references[r] = ref
		}
	}
}

func (o HistoryOptions) setAgainst(runs []*result.Run) (HistoryOptions, error) {
	if len(o.To) == 0 {
		return o, nil
	}
	metrics, err := relative(o.Metrics, runs, o.To)
	if err != nil {
		return o, err
	}
	wanted := o.Locks
	o.Metrics = metrics
	o.Locks = func(l result.Lock) bool { return !slices.Contains(o.To, l.Name) && (wanted == nil || wanted(l)) }
	return o, nil
}

package judge

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
)

// LockTables returns the tables of the workloads in which run has its baseline and another
// lock: one for each of metrics, or one with the metric of each situation if there are none.
// The error wraps harness.ErrUsage if nothing can be compared.
func LockTables(run *result.Run, metrics []*result.Metric) (out []Table, err error) {
	to, names := run.Baseline, metricNames(metrics)
	if !slices.ContainsFunc(run.Results, func(r *result.Result) bool { return r.Lock.Name == to }) {
		return nil, fmt.Errorf("%w: the run has no result of %s to compare the others with", harness.ErrUsage, to)
	}
	if bad := Violations(run)[to]; bad != nil {
		return nil, fmt.Errorf("%w: %s violated %s, so it has no speed to compare the others with", harness.ErrUsage, to, bad[0].Violations[0].Rule)
	}
	if metrics == nil {
		metrics, names = []*result.Metric{nil}, "its metric"
	}
	filled := func(r Entry) bool {
		return r.Lock != to && (r.Violated > 0 || slices.ContainsFunc(r.Ratios, func(x *Ratio) bool { return x != nil }))
	}
	for _, m := range metrics {
		for _, t := range tablesBy(m, run, to) {
			if t.Baseline == to && slices.ContainsFunc(t.Rows, filled) {
				out = append(out, t)
			}
		}
	}
	if out == nil {
		err = fmt.Errorf("%w: no round has a figure of %s for both %s and another lock", harness.ErrUsage, names, to)
	}
	return out, err
}

// tablesBy returns the tables of run by m, or by the metric of each situation if m is nil. Then
// open loops are compared by the granted share, if locks of that kind have no closed loop.
func tablesBy(m *result.Metric, run *result.Run, baseline string) (out []Table) {
	gs := Groups(run)
	for _, g := range gs {
		switch g.metric = m; {
		case m != nil || !g.Open():
		case slices.ContainsFunc(gs, func(o *Group) bool { return o.Remote == g.Remote && !o.Open() }):
			continue
		default:
			g.metric = result.Goodput
		}
		out = append(out, g.table(baseline))
	}
	return out
}

package lab

import (
	"slices"
	"sort"
	"time"

	"locklab/harness"
	"locklab/harness/measure"
	"locklab/harness/result"
)

// A part is a share of the time of a report, as in docs/methodology.md.
type part struct {
	name string
	time time.Duration                                // in make report; durable servers only with all locks
	has  func(v result.Lock, w harness.Workload) bool // nil for a part on top of --budget
}

// parts is the division of time in make report; other budgets have the same shares.
var parts = []part{
	{"local", 55 * time.Second, func(v result.Lock, w harness.Workload) bool { return v.Traits.Needs == "" && usual(v, w) }},
	{"distributed", 42 * time.Second, func(v result.Lock, w harness.Workload) bool { return v.Traits.Needs != "" && usual(v, w) }},
	{"conditions", 10 * time.Second, func(v result.Lock, w harness.Workload) bool {
		return v.Traits.Needs == "" && w.Rate == 0 && (w.Reads > 0 || longHeld(w))
	}},
	{"load", 8 * time.Second, func(v result.Lock, w harness.Workload) bool { return w.Rate > 0 }},
	{"durable servers", 5 * time.Second, func(v result.Lock, w harness.Workload) bool { return sited(v, w) }},
	{"hardware", 10 * time.Second, nil},
	{"failures", 20 * time.Second, nil},
}

// hardwareTime is the time of each hardware experiment, about, in hardwareRepeats repeats.
const (
	hardwareTime    = time.Second
	hardwareRepeats = 3
)

func usual(v result.Lock, w harness.Workload) bool {
	return w.Rate == 0 && !sited(v, w) && (v.Traits.Needs != "" || w.Reads == 0 && !longHeld(w))
}

func longHeld(w harness.Workload) bool { return w.Hold.Mean == defaultLongHold }

func sited(v result.Lock, w harness.Workload) bool {
	return v.Traits.Needs != "" && w.Rate == 0 && !measure.SiteOf(v.Traits, w).Plain()
}

func (t part) of(c measure.Case) bool {
	return t.has != nil && t.has(result.Describe(c.Lock), c.StandIn().Workload)
}

// divide gives the parts of p windows that use their shares of the budget. A part beyond its
// limits gets the shortest or longest, and the others divide the rest.
func (o runOptions) divide(p *measure.Plan, budget time.Duration) {
	open := filter(parts, func(t part) bool { return p.EstimateOf(t.of) > 0 })
	left := budget
	for len(open) > 0 {
		at := -1
		for i, t := range open {
			window := o.windowFor(p, t.of, share(left, t, open))
			o.setWindowsOf(p, t.of, min(maxWindow, max(minWindow, window)))
			if at < 0 && (window < minWindow || window > maxWindow) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		left -= p.EstimateOf(open[at].of)
		open = append(open[:at:at], open[at+1:]...)
	}
}

func share(left time.Duration, t part, open []part) time.Duration {
	var all time.Duration
	for _, u := range open {
		all += u.time
	}
	return time.Duration(float64(left) * float64(t.time) / float64(all))
}

// windowFor returns the longest window, in whole ms, with which the cases picked by has take
// at most d, or one outside of minWindow and maxWindow.
func (o runOptions) windowFor(p *measure.Plan, has func(measure.Case) bool, d time.Duration) time.Duration {
	const step = time.Millisecond
	n := sort.Search(int((maxWindow-minWindow)/step)+1, func(i int) bool {
		o.setWindowsOf(p, has, minWindow+time.Duration(i)*step)
		return p.EstimateOf(has) > d
	})
	if n > int((maxWindow-minWindow)/step) {
		return maxWindow + step
	}
	return minWindow + time.Duration(n-1)*step
}

func (o runOptions) windows(p *measure.Plan) map[string]time.Duration {
	m := make(map[string]time.Duration)
	for _, t := range parts {
		if i := slices.IndexFunc(p.Cases, t.of); i >= 0 {
			m[t.name] = o.baseOf(p.Cases[i])
		}
	}
	return m
}

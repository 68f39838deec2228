package lab

import (
	"fmt"
	"strings"
	"time"

	"locklab/harness"
	"locklab/harness/runner"
)

// A part is one of those that the time of a report is divided among. The table in
// docs/methodology.md says the same.
type part struct {
	name string
	time time.Duration                                 // of make report
	has  func(v harness.Lock, w harness.Workload) bool // nil for what comes on top of --budget
}

// parts is how make report spends its time. With another budget the parts that are
// measured have the same shares of it.
var parts = []part{
	{"local", 100 * time.Second, func(v harness.Lock, w harness.Workload) bool { return v.Traits.Needs == "" && !conditioned(w) }},
	{"distributed", 150 * time.Second, func(v harness.Lock, w harness.Workload) bool { return v.Traits.Needs != "" }},
	{"conditions", 20 * time.Second, func(v harness.Lock, w harness.Workload) bool { return v.Traits.Needs == "" && conditioned(w) }},
	{"hardware", 30 * time.Second, nil},
	{"failures", time.Minute, nil},
}

// conditioned reports whether w differs from plain contention for a local lock.
func conditioned(w harness.Workload) bool { return w.Reads > 0 || w.Hold.Mean == defaultLongHold }

// of returns the cases of p that belong to t.
func (t part) of(p *runner.Plan) func(runner.Case) bool {
	return func(c runner.Case) bool { return t.has != nil && t.has(c.Lock.Describe(), c.Workload) }
}

// divide gives the parts of p, whose rounds are chosen, windows such that each takes
// its share of the budget. A part that needs more for the shortest windows, or cannot
// spend its share on the longest, has those, and the others divide the rest.
func (o runOptions) divide(p *runner.Plan, budget time.Duration) {
	var open []part
	for _, t := range parts {
		if p.EstimateOf(t.of(p)) > 0 {
			open = append(open, t)
		}
	}
	left := budget
	for len(open) > 1 {
		at := -1
		for i, t := range open {
			window := o.windowFor(p, t.of(p), share(left, t, open))
			o.setWindowsOf(p, t.of(p), min(maxWindow, max(minWindow, window)))
			if at < 0 && (window < minWindow || window > maxWindow) {
				at = i
			}
		}
		if at < 0 {
			return
		}
		left -= p.EstimateOf(open[at].of(p))
		open = append(open[:at:at], open[at+1:]...)
	}
	for _, t := range open {
		o.setWindowsOf(p, t.of(p), min(maxWindow, max(minWindow, o.windowFor(p, t.of(p), left))))
	}
}

// share returns how much of left is for t, one of open.
func share(left time.Duration, t part, open []part) time.Duration {
	var all time.Duration
	for _, u := range open {
		all += u.time
	}
	return time.Duration(float64(left) * float64(t.time) / float64(all))
}

// windowFor returns the window with which the cases that has picks take so long; it is
// negative if they take longer with none.
func (o runOptions) windowFor(p *runner.Plan, has func(runner.Case) bool, d time.Duration) time.Duration {
	o.setWindowsOf(p, has, 2*minWindow)
	more := p.EstimateOf(has)
	o.setWindowsOf(p, has, minWindow)
	low := p.EstimateOf(has)
	return minWindow + time.Duration(float64(minWindow)*float64(d-low)/float64(more-low)).Truncate(time.Millisecond)
}

// division says how long each part of p and of what comes on top takes, about, or ""
// where there is only one.
func (o runOptions) division(p *runner.Plan) string {
	var said []string
	for _, t := range parts {
		d := t.time
		switch {
		case t.has != nil:
			d = p.EstimateOf(t.of(p))
		case t.name == "hardware" && !o.hardware, t.name == "failures" && !o.chaos:
			d = 0
		}
		if d > 0 {
			said = append(said, fmt.Sprintf("%s %v", t.name, d.Round(time.Second)))
		}
	}
	if len(said) < 2 {
		return ""
	}
	return strings.Join(said, ", ")
}

// windows returns the windows of local locks in each part of p, from which those of
// the others follow.
func (o runOptions) windows(p *runner.Plan) map[string]time.Duration {
	m := make(map[string]time.Duration)
	for _, t := range parts {
		has := t.of(p)
		for _, c := range p.Cases {
			if has(c) {
				m[t.name] = o.baseOf(c)
				break
			}
		}
	}
	return m
}

package page

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// otherKind is the kind of a warning outside [WarningKinds], as of an older version.
const otherKind = "other"

// A warning is a kind of warning with its typical example, of median distance from its case.
type warning struct {
	harness.Warning
	Where string // "the whole run", or a number of results

	count  int     // results with the warning; 0 if it concerns the whole run
	behind int     // of these, the disturbed results behind a decision
	off    float64 // typical distance of these from the median of their case
}

// effect is the number of decisions' results with w, times their distance from the median.
func (w warning) effect() float64 { return float64(w.behind) * w.off }

// Said returns w as a paragraph.
func (w warning) Said() string {
	return strings.TrimSpace(fmt.Sprintf("%s In %s. %s", w.Text, w.Where, w.Remedy))
}

// A tally counts the warnings of one kind.
type tally struct {
	examples    []example
	count       int
	counted     *harness.Result // the last one: a result counts once
	behind      []float64       // of each such result, the distance from the median of its case
	experiments []string
}

type example struct {
	harness.Warning
	off float64
}

func (t *tally) typical() harness.Warning {
	sorted := slices.Clone(t.examples)
	slices.SortStableFunc(sorted, func(a, b example) int { return cmp.Compare(a.off, b.off) })
	return sorted[len(sorted)/2].Warning
}

type warningSummary struct {
	run     *result.Run
	kinds   []*tally
	index   map[string]*tally  // by kind, or by text without a kind
	medians map[string]float64 // rate of each case
	results map[*harness.Result][]judge.Situation
}

func caseOf(r *harness.Result) string { return r.Lock.Name + " " + r.Workload.Name() }

func newWarningSummary(run *result.Run, ds []judge.Decision) *warningSummary {
	c := &warningSummary{run: run, index: make(map[string]*tally), medians: make(map[string]float64), results: make(map[*harness.Result][]judge.Situation)}
	rates := make(map[string][]float64)
	for _, r := range run.Results {
		if v, ok := result.Throughput.Of(r); ok {
			rates[caseOf(r)] = append(rates[caseOf(r)], v)
		}
	}
	for name, vs := range rates {
		c.medians[name] = stat.Summarize(vs).Median
	}
	for _, d := range ds {
		for _, r := range d.Situation.Results() {
			c.results[r] = append(c.results[r], d.Situation)
		}
	}
	return c
}

func (c *warningSummary) off(r *harness.Result) float64 {
	v, ok := result.Throughput.Of(r)
	if middle := c.medians[caseOf(r)]; ok && middle > 0 {
		return math.Abs(v/middle - 1)
	}
	return 0
}

func (c *warningSummary) add(w harness.Warning, off float64) *tally {
	kind := w.Kind
	if kind == "" || kind == otherKind {
		kind = w.Text
	}
	t := c.index[kind]
	if t == nil {
		t = new(tally)
		c.index[kind] = t
		c.kinds = append(c.kinds, t)
	}
	t.examples = append(t.examples, example{w, off})
	return t
}

func (c *warningSummary) whole(w harness.Warning) { c.add(w, 0) }

func (c *warningSummary) of(r *harness.Result, w harness.Warning) {
	t := c.add(w, c.off(r))
	if t.counted == r {
		return
	}
	t.counted = r
	t.count++
	if slices.ContainsFunc(c.results[r], func(s judge.Situation) bool { return s.Disturbs(w) }) {
		t.behind = append(t.behind, c.off(r))
	}
}

func (c *warningSummary) experiment(name string, w harness.Warning) {
	if t := c.add(w, 0); !slices.Contains(t.experiments, name) {
		t.experiments = append(t.experiments, name)
	}
}

// warnings returns a warning of each kind: behind a decision, by effect, on the run, the rest.
func (c *warningSummary) warnings() (out []warning) {
	for _, t := range c.kinds {
		w := warning{Warning: t.typical(), count: t.count, behind: len(t.behind)}
		if len(t.behind) > 0 {
			w.off = stat.Summarize(t.behind).Median
		}
		w.Where = c.where(t, w)
		out = append(out, w)
	}
	rank := func(w warning) int {
		switch {
		case w.behind > 0:
			return 0
		case w.Where == wholeRun:
			return 1
		case w.count > 0:
			return 2
		}
		return 3
	}
	slices.SortStableFunc(out, func(a, b warning) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(b.effect(), a.effect()), cmp.Compare(b.behind, a.behind), cmp.Compare(b.count, a.count))
	})
	return out
}

const wholeRun = "the whole run"

func (c *warningSummary) where(t *tally, w warning) string {
	var parts []string
	switch {
	case w.behind > 0:
		parts = append(parts, fmt.Sprintf("%d of the %s behind the decisions, typically %s from the median of their case",
			w.behind, numfmt.Plural(len(c.results), "result"), numfmt.Percent(100*w.off)))
	case w.count > 0:
		parts = append(parts, fmt.Sprintf("%d of %s", w.count, numfmt.Plural(len(c.run.Results), "result")))
	case len(t.experiments) == 0:
		return wholeRun
	}
	if n := len(t.experiments); n > 0 && w.behind == 0 {
		parts = append(parts, numfmt.Noun(n, "experiment")+" "+numfmt.List(t.experiments, 4))
	}
	return strings.Join(parts, "; in ")
}

package reports

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// otherKind is the kind of a warning whose kind is not among [WarningKinds], such
// as one in the file of an older lab.
const otherKind = "other"

// A warning is one kind of warning: what has the same [harness.Warning.Kind], or without
// one, what differs in nothing but its figures.
type warning struct {
	harness.Warning                   // the typical one of those that say it in the same words the most often
	Where           string            // "the whole run", or in how many results
	Variants        []harness.Warning // one of each wording, that of Warning first

	count  int     // results that carry it, 0 if it is about the whole run
	behind int     // of those, results that a verdict rests on, and that it disturbs
	off    float64 // how far these are from the median of their case, typically
}

// effect is by how much w may have moved the verdict: which share of the results behind
// it carry w, times how far these are off.
func (w warning) effect() float64 { return float64(w.behind) * w.off }

// More returns the other wordings.
func (w warning) More() []harness.Warning { return w.Variants[min(1, len(w.Variants)):] }

// Said is w as a paragraph.
func (w warning) Said() string {
	return strings.TrimSpace(fmt.Sprintf("%s In %s. %s", w.Text, w.Where, w.Remedy))
}

// A wording is warnings that differ in nothing but their figures.
type wording struct {
	all   []harness.Warning
	whole bool
}

// typical returns that of w whose first figure is in the middle.
func (w *wording) typical() harness.Warning {
	figure := func(x harness.Warning) float64 {
		v, _ := strconv.ParseFloat(strings.ReplaceAll(figureRE.FindString(x.Text), ",", ""), 64)
		return v
	}
	sorted := slices.Clone(w.all)
	slices.SortStableFunc(sorted, func(a, b harness.Warning) int { return cmp.Compare(figure(a), figure(b)) })
	return sorted[len(sorted)/2]
}

// A tally is what a census counts of one kind.
type tally struct {
	wordings    []*wording
	index       map[harness.Warning]*wording
	count       int
	counted     *harness.Result // the last one: a result counts once
	behind      []float64       // of each such result, how far it is off
	experiments []string
}

// A census counts the kinds of warnings of a run.
type census struct {
	run     *resultfile.Run
	kinds   []*tally
	index   map[harness.Warning]*tally
	medians map[string]float64 // rate of each case
	results map[*harness.Result][]verdict.Verdict
}

func caseOf(r *harness.Result) string { return r.Lock.Name + " " + r.Workload.Name() }

// newCensus readies the count of the warnings of run, whose verdicts are vs.
func newCensus(run *resultfile.Run, vs []verdict.Verdict) *census {
	c := &census{run: run, index: make(map[harness.Warning]*tally), medians: make(map[string]float64), results: make(map[*harness.Result][]verdict.Verdict)}
	rates := make(map[string][]float64)
	for _, r := range run.Results {
		if v, ok := metric.Throughput.Of(r); ok {
			rates[caseOf(r)] = append(rates[caseOf(r)], v)
		}
	}
	for name, vs := range rates {
		c.medians[name] = stat.Summarize(vs).Median
	}
	for _, v := range vs {
		for _, cell := range v.Cells() {
			for _, r := range cell.Rounds {
				c.results[r] = append(c.results[r], v)
			}
		}
	}
	return c
}

// off returns how far the rate of r is from the median of its case, as a share of it.
func (c *census) off(r *harness.Result) float64 {
	v, ok := metric.Throughput.Of(r)
	if middle := c.medians[caseOf(r)]; ok && middle > 0 {
		return math.Abs(v/middle - 1)
	}
	return 0
}

var figureRE = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

// add counts w, and returns the tally of its kind.
func (c *census) add(w harness.Warning, whole bool) *tally {
	words := harness.Warning{Text: figureRE.ReplaceAllString(w.Text, "#"), Remedy: w.Remedy}
	kind := words
	if w.Kind != "" && w.Kind != otherKind {
		kind = harness.Warning{Kind: w.Kind}
	}
	t := c.index[kind]
	if t == nil {
		t = &tally{index: make(map[harness.Warning]*wording)}
		c.index[kind] = t
		c.kinds = append(c.kinds, t)
	}
	said := t.index[words]
	if said == nil {
		said = &wording{whole: whole}
		t.index[words] = said
		t.wordings = append(t.wordings, said)
	}
	said.all = append(said.all, w)
	return t
}

// whole counts a warning of the whole run.
func (c *census) whole(w harness.Warning) { c.add(w, true) }

// of counts a warning of r.
func (c *census) of(r *harness.Result, w harness.Warning) {
	t := c.add(w, false)
	if t.counted == r {
		return
	}
	t.counted = r
	t.count++
	if slices.ContainsFunc(c.results[r], func(v verdict.Verdict) bool { return v.Disturbs(w) }) {
		t.behind = append(t.behind, c.off(r))
	}
}

// experiment counts a warning of a hardware experiment.
func (c *census) experiment(name string, w harness.Warning) {
	if t := c.add(w, false); !slices.Contains(t.experiments, name) {
		t.experiments = append(t.experiments, name)
	}
}

// warnings returns a warning of each kind: those of results behind the verdict first, in
// order of effect, then those of the whole run, then those of other results and of
// experiments.
func (c *census) warnings() (out []warning) {
	for _, t := range c.kinds {
		w := warning{count: t.count, behind: len(t.behind)}
		slices.SortStableFunc(t.wordings, func(a, b *wording) int { return cmp.Compare(len(b.all), len(a.all)) })
		for _, said := range t.wordings {
			w.Variants = append(w.Variants, said.typical())
		}
		w.Warning = w.Variants[0]
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

// where says in what t was seen.
func (c *census) where(t *tally, w warning) string {
	var parts []string
	switch {
	case w.behind > 0:
		parts = append(parts, fmt.Sprintf("%d of the %s behind the verdict, typically %s from the median of their case",
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

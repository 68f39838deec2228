package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// otherKind is the kind of a warning outside [WarningKinds], as of an older version.
const otherKind = "other"

// A warning is a kind of warning with its first example.
type warning struct {
	harness.Warning
	Where string // "the whole run", or a number of results

	count       int             // results with the warning
	behind      int             // of these, the disturbed results behind a decision
	counted     *harness.Result // the last one: a result counts once
	experiments []string
}

// Paragraph returns w with its place and remedy.
func (w *warning) Paragraph() string {
	return strings.TrimSpace(fmt.Sprintf("%s In %s. %s", w.Text, w.Where, w.Remedy))
}

// A warningSummary merges warnings by kind.
type warningSummary struct {
	kinds []*warning
	index map[string]*warning // by kind, or by text without a kind
}

func (c *warningSummary) add(w harness.Warning) *warning {
	w.Text, w.Remedy = numfmt.Sentence(w.Text), numfmt.Sentence(w.Remedy)
	kind := w.Kind
	if kind == "" || kind == otherKind {
		kind = w.Text
	}
	if c.index[kind] == nil {
		c.index[kind] = &warning{Warning: w}
		c.kinds = append(c.kinds, c.index[kind])
	}
	return c.index[kind]
}

func (c *warningSummary) addResult(r *harness.Result, w harness.Warning, decided []judge.Situation) {
	t := c.add(w)
	if t.counted == r {
		return
	}
	t.counted = r
	t.count++
	if slices.ContainsFunc(decided, func(s judge.Situation) bool { return s.Disturbs(w) }) {
		t.behind++
	}
}

// sorted returns the kinds: those behind a decision, by results, on the run, the rest.
func (c *warningSummary) sorted(run *result.Run, decided int) []*warning {
	rank := make(map[*warning]int)
	for _, w := range c.kinds {
		switch {
		case w.behind > 0:
			rank[w], w.Where = 0, fmt.Sprintf("%d of the %s behind the decisions", w.behind, numfmt.Plural(decided, "result"))
		case w.count > 0:
			rank[w], w.Where = 2, fmt.Sprintf("%d of %s", w.count, numfmt.Plural(len(run.Results), "result"))
		case len(w.experiments) > 0:
			rank[w], w.Where = 3, numfmt.Noun(len(w.experiments), "experiment")+" "+numfmt.List(w.experiments, 4)
		default:
			rank[w], w.Where = 1, "the whole run"
		}
	}
	slices.SortStableFunc(c.kinds, func(a, b *warning) int {
		return cmp.Or(cmp.Compare(rank[a], rank[b]), cmp.Compare(b.behind, a.behind), cmp.Compare(b.count, a.count))
	})
	return c.kinds
}

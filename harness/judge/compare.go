package judge

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"locklab/harness"
	"locklab/harness/result"
	"locklab/internal/stat"
)

// A Verdict is the conclusion about one case.
type Verdict string

// The verdicts. The tolerance is CompareOptions.Tolerance. The interval is of the ratio of the
// new figure to the old.
const (
	NotWorse       Verdict = "not worse"       // within the tolerance, or better: the interval excludes worse
	Better         Verdict = "better"          // by more than the tolerance, over the whole interval
	Regressed      Verdict = "regressed"       // likewise worse; or the new run broke a promise of the lock
	NotSignificant Verdict = "not significant" // the interval does not exclude worse
	TooFewRounds   Verdict = "too few rounds"  // no difference, however great, could be significant
	Unmeasured     Verdict = "not measured"    // planned in a run, and not measured in all its rounds
	OnlyBase       Verdict = "only in BASE"
	OnlyNew        Verdict = "only in NEW"
	NoBase         Verdict = "no baseline"  // the old run broke a promise of the lock, so it has no speed
	Elsewhere      Verdict = "inconclusive" // the runs are of two machines, which may explain the difference
	Expected       Verdict = "broken lock"  // it broke a promise, as expected of a lock kept to show that
)

// Verdicts lists the verdicts on a case, the worst first.
var Verdicts = []Verdict{Regressed, OffRun, Elsewhere, NotSignificant, TooFewRounds, Unmeasured, FewRuns, NoBase, Better, Steady, NotWorse, OneRun, Expected, OnlyBase, OnlyNew}

// An Outcome summarizes all verdicts.
type Outcome string

// The outcomes, the worst first.
const (
	Worse  Outcome = "regressed" // at least one case regressed
	Unsure Outcome = "unsure"    // no case regressed, and at least one is inconclusive
	Fine   Outcome = "no worse"
)

// CompareOptions determine when a difference counts. The zero value of each field is its
// default.
type CompareOptions struct {
	Metrics   []*result.Metric       // default: the first of Suite
	Alpha     float64                // chance of any false alarm among all comparisons; default 0.05
	Tolerance *float64               // relative worsening that counts; default the lesser of the two runs'
	Locks     func(result.Lock) bool // which locks to compare; default all

	AnyHost bool // machines that differ only in the host name count as one, like containers
}

// DefaultAlpha is the default of Options.Alpha.
const DefaultAlpha = 0.05

// A Comparison is the result of comparing two runs.
type Comparison struct {
	Base result.Manifest `json:"-"`
	New  result.Manifest `json:"-"`
	// Paired reports whether both runs were measured in the same rounds. Then the
	// ratio is the median of one ratio per round, otherwise over all pairs of rounds.
	Paired    bool            `json:"paired"`
	Alpha     float64         `json:"alpha"`
	Tolerance float64         `json:"tolerance"`   // a share
	Tests     int             `json:"comparisons"` // number of comparisons
	Level     float64         `json:"level"`       // confidence of each interval: all hold together with 1 - Alpha
	Rows      []HistorySeries `json:"-"`           // of two points each; Verdict is on the case
	// Gaps are planned results missing from a run that no row represents: damaged
	// lines, and lost cases.
	Gaps     []string `json:"gaps"`
	Warnings []string `json:"warnings"` // differences that make the runs hard to compare, one sentence each
}

// Outcome returns the worst of c's verdicts. Cases that only one run planned do not
// matter. Planned results that a run lacks do, unless a case regressed.
func (c *Comparison) Outcome() Outcome {
	if out := outcomeOf(c.Rows); out != Fine || len(c.Gaps) == 0 {
		return out
	}
	return Unsure
}

func outcomeOf(ss []HistorySeries) Outcome {
	out := Fine
	for _, s := range ss {
		switch s.Verdict {
		case Regressed:
			return Worse
		case NotSignificant, TooFewRounds, FewRuns, OffRun, Unmeasured, Elsewhere:
			out = Unsure
		}
	}
	return out
}

// Compare compares base with next. It wraps harness.ErrUsage if they have no comparable case.
func Compare(base, next *result.Run, o CompareOptions) (*Comparison, error) {
	if len(o.Metrics) == 0 {
		o.Metrics = Metrics[:1]
	}
	c := &Comparison{
		Base: base.Manifest, New: next.Manifest, Alpha: cmp.Or(o.Alpha, DefaultAlpha),
		Tolerance: min(base.Manifest.ToleranceOrDefault(), next.Manifest.ToleranceOrDefault()),
		Paired:    sameRounds(base.Manifest, next.Manifest),
	}
	if o.Tolerance != nil {
		c.Tolerance = *o.Tolerance
	}
	matches := match(o.Locks, base, next)
	was, is := planOf("BASE", base), planOf("NEW", next)
	var tests []test
	judged := 0
	for _, m := range matches {
		rows, ts := m.rows(len(c.Rows), o.Metrics, was, is, c.Paired)
		c.Rows, tests = append(c.Rows, rows...), append(tests, ts...)
		if m.planned(was, is) {
			judged++
		}
	}
	c.Gaps = append(append([]string{}, was.gaps(is, o.Locks)...), is.gaps(was, o.Locks)...)
	slices.Sort(c.Gaps)
	if judged == 0 && !was.lostWith(is, o.Locks) {
		return nil, fmt.Errorf("%w: the two runs have no case in common: both must have measured the same lock with the same workload", harness.ErrUsage)
	}
	c.Tests, c.Level = len(tests), judgeTests(c.Rows, tests, c.Alpha, c.Tolerance, c.Paired)
	unlike := base.Manifest.Machine.Unlike(next.Manifest.Machine, o.AnyHost)
	for _, t := range tests {
		r := &c.Rows[t.row]
		p := &r.Points[1]
		switch r.Verdict = p.Verdict; {
		case unlike != nil && (!p.Missing || r.Verdict == Regressed) && r.Verdict != TooFewRounds:
			r.Verdict, p.Gap = Elsewhere, "measured on two machines: "+unlike[0].String()
		case p.Missing && r.Verdict != Regressed:
			r.Verdict = Unmeasured // the missing rounds may be the bad ones
		}
	}
	if err := c.empty(o.Metrics); err != nil {
		return nil, err
	}
	slices.SortStableFunc(c.Rows, byCase(o.Metrics))
	c.Warnings = append([]string{}, warnings(base, next, c.Paired, o.AnyHost, matches)...)
	return c, nil
}

func (c *Comparison) empty(metrics []*result.Metric) error {
	if len(c.Rows) == 0 && len(c.Gaps) > 0 {
		return nil // both lost all that they planned
	}
	why := "no case that the two runs have in common has a figure of " + metricNames(metrics) + " in both"
	for _, r := range c.Rows {
		switch r.Verdict {
		case OnlyBase, OnlyNew:
		case NoBase, Expected:
			why = "nothing is left to compare: " + r.Note()
		default:
			return nil
		}
	}
	return fmt.Errorf("%w: %s", harness.ErrUsage, why)
}

func sameRounds(a, b result.Manifest) bool {
	return a.Pair != "" && a.Pair == b.Pair || a.IsCopyOf(b)
}

// A test compares the figures of a point of a row with the figures of an earlier point.
type test struct {
	row, point int
	base, next []float64
}

// judgeTests sets the ratio and the verdict of the point of each test, and returns the
// confidence of each interval.
func judgeTests(rows []HistorySeries, tests []test, alpha, tolerance float64, paired bool) (level float64) {
	level = 1 - alpha/float64(max(1, len(tests)))
	ratio := stat.Unpaired
	if paired {
		ratio = stat.Paired
	}
	var ps []float64
	for _, t := range tests {
		r := ratio(t.next, t.base, level)
		p := &rows[t.row].Points[t.point]
		p.Before, p.Verdict = r, judgeRatio(rows[t.row].Metric, r, tolerance)
		if paired && slices.Equal(t.base, t.next) {
			p.Verdict = NotWorse // nothing to estimate
		}
		ps = append(ps, r.P)
	}
	for i, p := range stat.Holm(ps) {
		rows[tests[i].row].Points[tests[i].point].Before.P = p
	}
	return level
}

func judgeRatio(m *result.Metric, ratio stat.Ratio, tolerance float64) Verdict {
	worse := worse(m, ratio)
	switch {
	case !ratio.Enough() || math.IsNaN(ratio.Median):
		return TooFewRounds
	case worse.Lo > 1+tolerance:
		return Regressed
	case worse.Inverse().Lo > 1+tolerance:
		return Better
	case worse.Hi <= 1+tolerance:
		return NotWorse
	}
	return NotSignificant
}

// Sites returns the machines of the two runs.
func (c *Comparison) Sites() []Site {
	base, next := Visit{Name: "BASE", Manifest: c.Base}, Visit{Name: "NEW", Manifest: c.New}
	name := func(v Visit) string { return cmp.Or(v.Manifest.Machine.Host, "unknown host") }
	if c.Base.Machine.String() == c.New.Machine.String() {
		return []Site{{name(base), []Visit{base, next}}}
	}
	return []Site{{name(base), []Visit{base}}, {name(next), []Visit{next}}}
}

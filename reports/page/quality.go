package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
	"locklab/reports/chart"
)

// quality is the evidence for and against a run.
type quality struct {
	judge.Quality
	Power       judge.Power
	Broken      bool            // every lock broke a promise
	Partial     string          // the reason why the run is incomplete, or ""
	Warnings    []*warning      // one for each kind, sorted by effect on the verdict
	Skipped     []string        // the locks that were not measured, with the reason
	NotMeasured int             // the number of these
	Damage      []string        // the first of the lines that cannot be read
	Damaged     int             // the number of all
	Checks      []machine.Check // all checks, good or bad
}

// topWarnings is the number of warnings shown in full next to a verdict.
const topWarnings = 3

// Top returns the warnings with the greatest effect on the verdict.
func (q quality) Top() []*warning { return q.Warnings[:min(topWarnings, len(q.Warnings))] }

// Rest returns the other warnings.
func (q quality) Rest() []*warning { return q.Warnings[min(topWarnings, len(q.Warnings)):] }

// RestHead returns the title of Rest.
func (q quality) RestHead() string {
	return numfmt.Plural(len(q.Rest()), "more kind") + " of warning"
}

// Items lists what reduces the quality, except for a partial run and the other warnings.
func (q quality) Items() []string {
	return slices.Concat(result.Each(q.Top(), (*warning).Paragraph), q.Skipped, q.Damage)
}

func skips(ss []result.Skip) (out []string) {
	for _, of := range result.GroupBy(ss, func(s result.Skip) string { return s.Reason }) {
		names := result.Each(of, result.Skip.Name)
		out = append(out, numfmt.List(names, 6)+" "+numfmt.Choose(len(names), "was", "were")+" not measured: "+of[0].Reason)
	}
	return out
}

func assess(run *result.Run, ds []judge.Decision) quality {
	q := quality{Quality: judge.QualityOf(run, ds), Power: judge.PowerOf(judge.Tables(run, run.Baseline)), Broken: len(judge.Violations(run)) > 0 && len(judge.Groups(run)) == 0, Partial: partial(run), Skipped: skips(run.Manifest.Skipped), NotMeasured: len(chart.Distinct(run.Manifest.Skipped, func(s result.Skip) string { return s.Lock })), Damage: run.DamageSummary(), Damaged: len(run.Damage), Checks: checks(run)}
	decided := make(map[*result.Result][]judge.Situation)
	for _, d := range ds {
		for _, r := range d.Situation.Results() {
			decided[r] = append(decided[r], d.Situation)
		}
	}
	c := warningSummary{index: make(map[string]*warning)}
	for _, w := range slices.Concat(run.Manifest.Warnings, drifts(run)) {
		c.add(w)
	}
	for _, r := range run.Results {
		for _, w := range r.Warnings {
			c.addResult(r, w, decided[r])
		}
		if len(r.Retries) > 0 {
			c.addResult(r, retried(r), decided[r])
		}
	}
	for _, f := range run.Findings {
		for _, w := range f.Warnings {
			if k := c.add(w); !slices.Contains(k.experiments, f.Name) {
				k.experiments = append(k.experiments, f.Name)
			}
		}
	}
	q.Warnings = c.sorted(run, len(decided))
	return q
}

func retried(r *result.Result) machine.Warning {
	return machine.Warning{Kind: "retried",
		Text:   fmt.Sprintf("%s was measured again, because its process was killed from outside: %s", r.Lock.Name, r.Retries[0]),
		Remedy: "check whether the kernel ran out of memory (dmesg); a lock that kills its own process looks the same"}
}

// WarningKinds returns the kinds of [Warnings]: about the machine, then the measurement.
func WarningKinds() []string {
	return append(machine.WarningKinds(), "overlap", "late", "clipped", "messages", "transfer", "round-trip", "lost", "retried", "drift", "ranks", "cold", otherKind)
}

// Warnings returns the warnings in the report of run, one for each kind.
func Warnings(run *result.Run) (ws []machine.Warning) {
	kinds := WarningKinds()
	for _, w := range assess(chart.Sanitize(run), nil).Warnings {
		if !slices.Contains(kinds, w.Kind) {
			w.Kind = otherKind
		}
		ws = append(ws, w.Warning)
	}
	return ws
}

func partial(run *result.Run) string {
	m := run.Manifest
	if !m.Interrupted && !m.Finished.IsZero() {
		return ""
	}
	rounds := 0
	for _, r := range run.Results {
		rounds = max(rounds, r.Round+1)
	}
	switch {
	case rounds > 0 || m.Cases > 0:
		return fmt.Sprintf("Partial run: it ended in round %d of %d, after %s.", rounds, m.Rounds, numfmt.Plural(len(run.Results), "result"))
	case len(run.Findings) > 0:
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(len(run.Findings), "experiment"))
	case len(run.Simulations) > 0:
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(len(run.Simulations), "simulation"))
	}
	return "Partial run: it ended early."
}

// Good reports whether there is no warning about the run.
func (q quality) Good() bool {
	return q.Partial == "" && len(q.Warnings) == 0 && len(q.Skipped) == 0 && len(q.Damage) == 0
}

func (q quality) headline(ds []judge.Decision) []fragment {
	out := headline(ds, q.Grade == judge.Poor)
	switch {
	case q.Broken:
		out = []fragment{{Text: "Every lock broke a promise in this run, so none has a speed."}}
	case len(out) > 0 && q.Grade == judge.Poor:
		out = append([]fragment{{Text: "Provisional, because the run quality is poor. "}}, out...)
	}
	return out
}

// Headline summarizes q in one line, with the most useful remedy.
func (q quality) Headline() string {
	var parts phrases
	parts.add(q.Results == 0, "no results to decide by")
	parts.add(q.Results > 0, "%d of %s disturbed", q.Disturbed, numfmt.Plural(q.Results, "result"))
	parts.add(q.Power.Large > 0, "%d of %s of 25 %% or more significant", q.Power.Significant, numfmt.Plural(q.Power.Large, "difference"))
	parts.add(q.Taken > 0, "%s of the CPUs taken by others", numfmt.Percent(100*q.Taken))
	parts.add(q.Results > 0 && q.Rounds < q.Planned, "%d of %s", q.Rounds, numfmt.Plural(q.Planned, "round"))
	parts.add(q.NotMeasured > 0, "%s not measured", numfmt.Plural(q.NotMeasured, "lock"))
	parts.add(q.Damaged > 0, "%s of the file damaged", numfmt.Plural(q.Damaged, "line"))
	text := "Run quality: " + strings.Join(parts, ", ") + "."
	if q.Results > 0 {
		text = fmt.Sprintf("Run quality: %s (%s).", q.Grade, strings.Join(parts, ", "))
	}
	if q.Results > 0 && q.Grade != judge.Good && len(q.Warnings) > 0 && q.Warnings[0].Remedy != "" {
		text += " Most useful remedy: " + q.Warnings[0].Remedy
	}
	return text
}

// otherKind is the kind of a warning outside [WarningKinds], as of an older version.
const otherKind = "other"

// A warning is a kind of warning with its first example.
type warning struct {
	machine.Warning
	Where string // "the whole run", or a number of results

	count       int            // results with the warning
	behind      int            // of these, the disturbed results behind a decision
	counted     *result.Result // the last one: a result counts once
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

func (c *warningSummary) add(w machine.Warning) *warning {
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

func (c *warningSummary) addResult(r *result.Result, w machine.Warning, decided []judge.Situation) {
	t := c.add(w)
	if t.counted == r {
		return
	}
	t.counted = r
	t.count++
	if slices.ContainsFunc(decided, func(s judge.Situation) bool { return s.Disturbs(w) }) {
		if t.behind++; t.behind == 1 { // its remedy helps the decisions
			t.Text, t.Remedy = numfmt.Sentence(w.Text), numfmt.Sentence(w.Remedy)
		}
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

// Thresholds for a drift of the machine, and for the overlap of the workers in percent.
const (
	driftChance = 0.01 // the probability of such a trend in rounds of random order
	driftChange = 0.05 // from the first round to the last
	minOverlap  = 95
)

// speedTrend returns the trend over the rounds of the speed of one kind of lock. The speed of
// a round is the median over its cases of the rate divided by the median rate of the case.
func speedTrend(run *result.Run, remote bool) stat.Trend {
	closed := slices.DeleteFunc(slices.Clone(run.Results), func(r *result.Result) bool {
		return r.Workload.Rate > 0 || (r.Lock.Traits.Needs != "") != remote // the rate of an open loop is the arrival rate
	})
	ratios := make(map[int][]float64)
	for _, rs := range result.GroupBy(closed, func(r *result.Result) string { return r.Lock.Name + " " + r.Workload.Name() }) {
		median := result.Throughput.Summary(rs).Median
		for _, r := range rs {
			if v, ok := result.Throughput.Of(r); ok && median > 0 {
				ratios[r.Round] = append(ratios[r.Round], v/median)
			}
		}
	}
	var speeds []float64
	for _, round := range slices.Sorted(maps.Keys(ratios)) {
		speeds = append(speeds, stat.Summarize(ratios[round]).Median)
	}
	return stat.FindTrend(speeds)
}

func drifted(t stat.Trend) bool {
	return t.P < driftChance && math.Abs(t.Change) > driftChange
}

// drifts returns warnings about trends. Comparisons within a round are not affected.
func drifts(run *result.Run) (ws []machine.Warning) {
	for _, remote := range []bool{false, true} {
		if t := speedTrend(run, remote); drifted(t) {
			word := map[bool]string{false: "faster", true: "slower"}[t.Change < 0]
			ws = append(ws, machine.Warning{Kind: "drift",
				Text:   fmt.Sprintf("over the %d rounds the machine got %.0f %% %s for %s (Mann-Kendall test, p = %.2g)", t.N, 100*math.Abs(t.Change), word, strings.ToLower(kind(remote)), t.P),
				Remedy: "compare locks within the run, by the ratios; for absolute figures let the machine come to a steady temperature and load, and run again",
			})
		}
	}
	return ws
}

func checks(run *result.Run) []machine.Check {
	if run.Manifest.Machine.OS == "" && len(run.Results) == 0 {
		return nil
	}
	var noise []machine.Noise
	least := math.Inf(1)
	for _, r := range run.Results {
		if r.Noise != nil {
			noise = append(noise, *r.Noise)
		}
		if v, ok := result.Overlap.Of(r); ok {
			least = min(least, v)
		}
	}
	overlap := machine.Check{Kind: "overlap", Name: "workers that ran all together (overlap)"}
	if !math.IsInf(least, 1) {
		overlap.Found, overlap.Bad = numfmt.Percent(least)+" of the window at least", least < minOverlap
	}
	out := append(slices.Concat(run.Manifest.Machine.Through(noise), machine.NoiseChecks(noise)), overlap)
	for _, remote := range []bool{false, true} {
		if t := speedTrend(run, remote); t.N > 2 {
			out = append(out, machine.Check{Kind: "drift", Name: "drift between rounds, " + strings.ToLower(kind(remote)), Bad: drifted(t),
				Found: fmt.Sprintf("%+.1f %% from the first to the last of %d, p = %.2g", 100*t.Change, t.N, t.P)})
		}
	}
	return out
}

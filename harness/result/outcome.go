package result

import (
	"fmt"
	"maps"
	"math"
	"slices"

	"locklab/harness/oracle"
	"locklab/internal/numfmt"
	"locklab/internal/stat"
)

// A FaultVerdict compares the observed effect of a scenario on a lock with the expected one.
type FaultVerdict string

// The verdicts.
const (
	Confirmed  FaultVerdict = "confirmed"  // as expected
	Unexpected FaultVerdict = "unexpected" // an unexpected anomaly occurred
	NotShown   FaultVerdict = "not shown"  // no possible anomaly occurred
	Observed   FaultVerdict = "observed"   // there was no expectation for the lock
	NotTested  FaultVerdict = "not tested" // skipped, or without a try
)

// UnsafeAnomalies lists the anomalies that let two clients access the guarded resource, now or later
// because tokens do not distinguish them. A try with one of them is a violation.
var UnsafeAnomalies = []oracle.Anomaly{oracle.TwoHolders, oracle.StaleWrite, oracle.TokenFell}

// A FaultOutcome is the judged outcome of a scenario on a lock.
type FaultOutcome struct {
	Fault   *FaultResult
	Verdict FaultVerdict

	Seen       []oracle.Anomaly // in the order of oracle.Anomalies
	Unexpected []oracle.Anomaly // the unexpected ones of these; empty if nothing was expected

	N int // tries

	// Violations is the number of tries in 1000 with one of [Unsafe]; NaN without tries. Older
	// results count each anomaly separately. If AtLeast is true, two anomalies may have occurred in
	// different tries, and it is the count of the more frequent one.
	Violations float64
	AtLeast    bool

	// Broken is like Violations, but only of anomalies that break the tested guarantees.
	Broken float64

	// Bound is the upper bound of the share of tries with a violation, 0 to 1, one-sided at 95
	// %: see stat.UpperBound. If nothing occurred, it is the bound of any anomaly.
	Bound float64

	Window  Times // how long the lock was free and not granted
	Notice  Times // time from the notice of a loss to the entry of the next holder
	Overlap Times // how long there were two holders
	Aims    []Aim
	Skipped string // reason for not testing it, or ""
}

// Times summarizes times of tries, in ns. The zero value is without times.
type Times struct {
	N                   int
	Median, Least, Most float64
}

// An Aim is a limit and the figure to compare with it.
type Aim struct {
	FaultAim
	Scenario string
	Value    float64 // NaN without a figure
	N        int     // values
	Met      bool
}

// Known reports whether there is a figure to compare.
func (a Aim) Known() bool { return a.N > 0 }

// Missed returns the aims of row that were missed.
func (row FaultOutcome) Missed() []Aim {
	return slices.DeleteFunc(slices.Clone(row.Aims), func(a Aim) bool { return !a.Known() || a.Met })
}

// JudgeFault compares observations with expectations.
func JudgeFault(r *FaultResult) FaultOutcome {
	row := FaultOutcome{Fault: r, N: r.Tries, Violations: math.NaN(), Broken: math.NaN(), Bound: stat.UpperBound(0, r.Tries), Skipped: r.Skipped}
	if r.Skipped != "" || r.Tries <= 0 {
		row.Verdict, row.N, row.Bound = NotTested, 0, 1
		if row.Skipped == "" {
			row.Skipped = noTry(r)
		}
		return row
	}
	row.Seen = seen(r)
	row.count(r)
	row.Verdict = row.compare(r.Expected)
	row.Window, row.Notice, row.Overlap = times(r.Window, r.stuck()), times(r.Notice, 0), times(r.Overlap, 0)
	row.Aims = Each(r.Aims, func(a FaultAim) Aim { return reach(r, a) })
	return row
}

// stuck returns the number of infinite windows: Window has none of the campaign's.
func (r *FaultResult) stuck() int { return r.Seen[oracle.Stuck] - r.Published.Seen[oracle.Stuck] }

func seen(r *FaultResult) (out []oracle.Anomaly) {
	for _, h := range slices.Concat(oracle.Anomalies, slices.Sorted(maps.Keys(r.Seen))) {
		if r.Seen[h] > 0 && !slices.Contains(out, h) {
			out = append(out, h)
		}
	}
	return out
}

func noTry(r *FaultResult) string {
	switch {
	case r.Failed > 0:
		return fmt.Sprintf("the fault could not be made in %s", tries(r.Failed))
	case r.Starved > 0:
		return fmt.Sprintf("the machine kept processes from running in %s, so they do not count", tries(r.Starved))
	case r.Interrupted:
		return "the run ended before the first try"
	}
	return "no try was made"
}

func (row *FaultOutcome) count(r *FaultResult) {
	least, most := r.Hurt(UnsafeAnomalies)
	row.Violations = 1000 * float64(least) / float64(r.Tries)
	row.AtLeast = least < most
	row.Bound = stat.UpperBound(most, r.Tries)
	breaking := slices.DeleteFunc(slices.Clone(UnsafeAnomalies), func(h oracle.Anomaly) bool { return !breaks(r.Tests, h) })
	least, _ = r.Hurt(breaking)
	row.Broken = 1000 * float64(least) / float64(r.Tries)
}

// breaks reports whether h breaks one of gs, or any promise if gs is empty. A stale write
// or a token that fell always breaks something.
func breaks(gs []Guarantee, h oracle.Anomaly) bool {
	return len(gs) == 0 || h != oracle.TwoHolders || slices.ContainsFunc(gs, func(g Guarantee) bool {
		return slices.Contains(g.Forbids(), h)
	})
}

func (row *FaultOutcome) compare(e Expectation) FaultVerdict {
	if e.Why == "" {
		return Observed
	}
	row.Unexpected = slices.DeleteFunc(slices.Clone(row.Seen), func(h oracle.Anomaly) bool { return slices.Contains(e.Anomalies, h) })
	switch {
	case len(row.Unexpected) > 0:
		return Unexpected
	case len(e.Anomalies) > 0 && len(row.Seen) == 0:
		return NotShown
	}
	return Confirmed
}

func times(ns []int64, endless int) (t Times) {
	vs := values(ns, endless)
	if t.N = len(vs); t.N == 0 {
		return t
	}
	t.Median, t.Least, t.Most = quantile(vs, 0.5), vs[0], vs[len(vs)-1]
	return t
}

func values(ns []int64, endless int) []float64 {
	vs := Each(ns, func(v int64) float64 { return float64(v) })
	for range endless {
		vs = append(vs, math.Inf(1))
	}
	slices.Sort(vs)
	return vs
}

func quantile(vs []float64, q float64) float64 {
	i := int(math.Ceil(q*float64(len(vs)))) - 1
	return vs[min(max(i, 0), len(vs)-1)]
}

// reach compares the figure of a with its limit. A try that got stuck has an infinite window.
func reach(r *FaultResult, a FaultAim) Aim {
	var vs []float64
	switch a.Figure {
	case "window":
		vs = values(r.Window, r.stuck())
	case "notice":
		vs = values(r.Notice, 0)
	default:
		for _, f := range r.Figures {
			if f.Name == a.Figure {
				vs = append(vs, f.Values...)
			}
		}
		vs = slices.DeleteFunc(vs, math.IsNaN)
		slices.Sort(vs)
	}
	out := Aim{FaultAim: a, Scenario: r.Scenario, Value: math.NaN(), N: len(vs)}
	if len(vs) > 0 {
		out.Value = quantile(vs, a.Quantile)
		out.Met = out.Value <= a.Limit
		if a.Least {
			out.Met = out.Value >= a.Limit
		}
	}
	return out
}

// Reading explains the verdict, such as "two holders in 15 of 20 tries, as expected: …".
func (row FaultOutcome) Reading() string {
	if row.Verdict == NotTested {
		return "not tested: " + row.Skipped
	}
	seen := "no anomaly in " + tries(row.N)
	if len(row.Seen) > 0 {
		seen = row.counted(row.Seen)
	}
	why := row.Fault.Expected.Why
	switch row.Verdict {
	case Unexpected:
		expected := "no anomaly was expected"
		if hs := row.Fault.Expected.Anomalies; len(hs) > 0 {
			expected = "only " + ListAnomalies(hs) + " was expected"
		}
		return fmt.Sprintf("%s, but %s: %s", seen, expected, why)
	case NotShown:
		return fmt.Sprintf("%s not shown in %s, at most %s of them: %s", ListAnomalies(row.Fault.Expected.Anomalies), tries(row.N), numfmt.Percent(100*row.Bound), why)
	case Confirmed:
		if len(row.Seen) == 0 {
			return fmt.Sprintf("%s, at most %s of them: %s", seen, numfmt.Percent(100*row.Bound), why)
		}
		return fmt.Sprintf("%s, as expected: %s", seen, why)
	}
	return seen + "; this lock has no expected result"
}

func (row FaultOutcome) counted(hs []oracle.Anomaly) string {
	parts := Each(hs, func(h oracle.Anomaly) string { return fmt.Sprintf("%s in %d", h, row.Fault.Seen[h]) })
	return numfmt.List(parts, len(parts)) + " of " + tries(row.N)
}

func tries(n int) string { return fmt.Sprintf("%d %s", n, numfmt.Choose(n, "try", "tries")) }

// ListAnomalies names hs in a sentence; "" without any.
func ListAnomalies(hs []oracle.Anomaly) string { return numfmt.List(anomalyNames(hs), len(hs)) }

func anomalyNames(hs []oracle.Anomaly) []string {
	return Each(hs, func(h oracle.Anomaly) string { return string(h) })
}

package page

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
	"locklab/reports/chart"
)

// quality is the evidence for and against a run.
type quality struct {
	judge.Quality
	Power    judge.Power
	Partial  string     // the reason why the run is incomplete, or ""
	Warnings []*warning // one for each kind, sorted by effect on the verdict
	Skipped  []skipped
	Damage   []string
	Checks   []machine.Check // all checks, good or bad
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
func (q quality) Items() (out []string) {
	for _, w := range q.Top() {
		out = append(out, w.Paragraph())
	}
	for _, s := range q.Skipped {
		out = append(out, s.Locks+": "+s.Reason)
	}
	return append(out, q.Damage...)
}

// skipped is the locks that were not measured for one reason.
type skipped struct {
	Locks  string // "a and b were not measured"
	Reason string
	count  int
}

func (q quality) skippedLocks() (n int) {
	for _, s := range q.Skipped {
		n += s.count
	}
	return n
}

func skips(ss []result.Skip) (out []skipped) {
	locks := make(map[string][]string)
	for _, s := range ss {
		if locks[s.Reason] == nil {
			out = append(out, skipped{Reason: s.Reason})
		}
		locks[s.Reason] = append(locks[s.Reason], s.Name())
	}
	for i, s := range out {
		names := locks[s.Reason]
		out[i].count = len(names)
		out[i].Locks = numfmt.List(names, 6) + " " + numfmt.Choose(len(names), "was", "were") + " not measured"
	}
	return out
}

func assess(run *result.Run, ds []judge.Decision) quality {
	q := quality{Quality: judge.QualityOf(run, ds), Power: judge.PowerOf(judge.Tables(run, run.Baseline)), Partial: partial(run), Skipped: skips(run.Manifest.Skipped), Damage: run.Damage, Checks: checks(run)}
	decided := make(map[*harness.Result][]judge.Situation)
	for _, d := range ds {
		for _, r := range d.Situation.Results() {
			decided[r] = append(decided[r], d.Situation)
		}
	}
	c := warningSummary{index: make(map[string]*warning)}
	for _, w := range run.Manifest.Warnings {
		c.add(chart.Readable(w))
	}
	for _, w := range drifts(run) {
		c.add(chart.Readable(w))
	}
	for _, r := range run.Results {
		for _, w := range r.Warnings {
			c.addResult(r, chart.Readable(w), decided[r])
		}
		if len(r.Retries) > 0 {
			c.addResult(r, chart.Readable(retried(r)), decided[r])
		}
	}
	for _, f := range chart.Findings(run) {
		for _, w := range f.Warnings {
			if k := c.add(chart.Readable(w)); !slices.Contains(k.experiments, f.Name) {
				k.experiments = append(k.experiments, f.Name)
			}
		}
	}
	q.Warnings = c.sorted(run, len(decided))
	return q
}

func retried(r *harness.Result) harness.Warning {
	return harness.Warning{Kind: "retried",
		Text:   fmt.Sprintf("%s was measured again, its process having been killed from outside: %s", r.Lock.Name, r.Retries[0]),
		Remedy: "look whether the kernel ran out of memory (dmesg), or what else ended it; a lock that kills its own process looks the same"}
}

// WarningKinds returns the kinds of [Warnings]: about the machine, then the measurement.
func WarningKinds() []string {
	return append(machine.WarningKinds(), "overlap", "late", "clipped", "messages", "transfer", "round-trip", "lost", "retried", "drift", "ranks", "cold", otherKind)
}

// Warnings returns the warnings in the report of run, one for each kind.
func Warnings(run *result.Run) (ws []harness.Warning) {
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
	if n := len(chart.Findings(run)); m.Cases == 0 && len(run.Results) == 0 && n > 0 {
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(n, "experiment"))
	}
	if n := len(run.Simulations); m.Cases == 0 && len(run.Results) == 0 && n > 0 {
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(n, "simulation"))
	}
	per, open := make(map[int]int), make(map[string]bool)
	for _, r := range run.Results {
		per[r.Round]++
		if r.Workload.Rate > 0 {
			open[caseOf(r)] = true
		}
	}
	// Open loops may skip rounds. Unmeasured ones are unknown.
	loop := harness.Workload{Rate: 1}
	whole, all := 0, m.Rounds*(m.Cases-len(open))+len(open)*loop.RoundsOf(m.Rounds, m.OpenEvery)
	for round, n := range per {
		planned := m.Cases
		if loop.RoundsOf(round+1, m.OpenEvery) == loop.RoundsOf(round, m.OpenEvery) {
			planned -= len(open)
		}
		if m.Cases > 0 && n >= planned {
			whole++
		}
	}
	return fmt.Sprintf("Partial run: %d of %s complete, %d of %d cases measured.",
		whole, numfmt.Plural(m.Rounds, "round"), len(run.Results), all)
}

// Good reports whether there is no warning about the run.
func (q quality) Good() bool {
	return q.Partial == "" && len(q.Warnings) == 0 && len(q.Skipped) == 0 && len(q.Damage) == 0
}

func (q quality) headline(ds []judge.Decision) []fragment {
	out := headline(ds)
	if len(out) > 0 && q.Grade == judge.Poor {
		out = append([]fragment{{Text: "Provisional, because the run quality is poor: "}}, out...)
	}
	return out
}

// Headline summarizes q in one line, with the most useful remedy.
func (q quality) Headline() string {
	text := "Run quality: " + string(q.Grade)
	if q.Results == 0 {
		text = "Run quality"
	}
	var parts []string
	if q.Results > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s disturbed", q.Disturbed, numfmt.Plural(q.Results, "result")))
	}
	if q.Power.Large > 0 {
		parts = append(parts, fmt.Sprintf("%d of %s of 25 %% or more significant", q.Power.Significant, numfmt.Plural(q.Power.Large, "difference")))
	}
	if q.Taken > 0 {
		parts = append(parts, numfmt.Percent(100*q.Taken)+" of the CPUs taken by others")
	}
	if q.Results > 0 && q.Rounds < q.Planned {
		parts = append(parts, fmt.Sprintf("%d of %s", q.Rounds, numfmt.Plural(q.Planned, "round")))
	}
	if n := q.skippedLocks(); n > 0 {
		parts = append(parts, numfmt.Plural(n, "lock")+" not measured")
	}
	if n := len(q.Damage); n > 0 {
		parts = append(parts, numfmt.Plural(n, "line")+" of the file damaged")
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if text += "."; q.Grade != judge.Good && len(q.Warnings) > 0 && q.Warnings[0].Remedy != "" {
		text += " Most useful remedy: " + q.Warnings[0].Remedy
	}
	return text
}

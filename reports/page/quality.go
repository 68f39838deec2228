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
	Power       judge.Power
	Partial     string     // the reason why the run is incomplete, or ""
	Warnings    []*warning // one for each kind, sorted by effect on the verdict
	Skipped     []string   // the locks that were not measured, with the reason
	NotMeasured int        // the number of these
	Damage      []string
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
func (q quality) Items() (out []string) {
	for _, w := range q.Top() {
		out = append(out, w.Paragraph())
	}
	return slices.Concat(out, q.Skipped, q.Damage)
}

// skips names the locks that were not measured, by reason.
func skips(ss []result.Skip) (out []string) {
	locks := make(map[string][]string)
	var reasons []string
	for _, s := range ss {
		if locks[s.Reason] == nil {
			reasons = append(reasons, s.Reason)
		}
		locks[s.Reason] = append(locks[s.Reason], s.Name())
	}
	for _, reason := range reasons {
		names := locks[reason]
		out = append(out, numfmt.List(names, 6)+" "+numfmt.Choose(len(names), "was", "were")+" not measured: "+reason)
	}
	return out
}

func assess(run *result.Run, ds []judge.Decision) quality {
	q := quality{Quality: judge.QualityOf(run, ds), Power: judge.PowerOf(judge.Tables(run, run.Baseline)), Partial: partial(run), Skipped: skips(run.Manifest.Skipped), NotMeasured: len(run.Manifest.Skipped), Damage: run.Damage, Checks: checks(run)}
	decided := make(map[*harness.Result][]judge.Situation)
	for _, d := range ds {
		for _, r := range d.Situation.Results() {
			decided[r] = append(decided[r], d.Situation)
		}
	}
	c := warningSummary{index: make(map[string]*warning)}
	for _, w := range run.Manifest.Warnings {
		c.add(w)
	}
	for _, w := range drifts(run) {
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
	for _, f := range chart.Findings(run) {
		for _, w := range f.Warnings {
			if k := c.add(w); !slices.Contains(k.experiments, f.Name) {
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
	rounds := 0
	for _, r := range run.Results {
		rounds = max(rounds, r.Round+1)
	}
	switch experiments := len(chart.Findings(run)); {
	case rounds == 0 && m.Cases == 0 && experiments > 0:
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(experiments, "experiment"))
	case rounds == 0 && m.Cases == 0 && len(run.Simulations) > 0:
		return fmt.Sprintf("Partial run: it ended after %s.", numfmt.Plural(len(run.Simulations), "simulation"))
	}
	return fmt.Sprintf("Partial run: it ended in round %d of %d, after %s.", rounds, m.Rounds, numfmt.Plural(len(run.Results), "result"))
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
	var parts phrases
	parts.add(q.Results > 0, "%d of %s disturbed", q.Disturbed, numfmt.Plural(q.Results, "result"))
	parts.add(q.Power.Large > 0, "%d of %s of 25 %% or more significant", q.Power.Significant, numfmt.Plural(q.Power.Large, "difference"))
	parts.add(q.Taken > 0, "%s of the CPUs taken by others", numfmt.Percent(100*q.Taken))
	parts.add(q.Results > 0 && q.Rounds < q.Planned, "%d of %s", q.Rounds, numfmt.Plural(q.Planned, "round"))
	parts.add(q.NotMeasured > 0, "%s not measured", numfmt.Plural(q.NotMeasured, "lock"))
	parts.add(len(q.Damage) > 0, "%s of the file damaged", numfmt.Plural(len(q.Damage), "line"))
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	if text += "."; q.Grade != judge.Good && len(q.Warnings) > 0 && q.Warnings[0].Remedy != "" {
		text += " Most useful remedy: " + q.Warnings[0].Remedy
	}
	return text
}

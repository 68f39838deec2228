package reports

import (
	"fmt"
	"slices"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/harness/verdict"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// quality is the evidence for and against a run.
type quality struct {
	Partial  string    // why the run is not whole, or ""
	Warnings []warning // a kind each, those that matter most for the verdict first
	Skipped  []skipped
	Damage   []string
	Checks   []machine.Check // all that was looked at, good or bad
}

// topWarnings is how many warnings are said in full where a verdict is read.
const topWarnings = 3

// Top returns the warnings that matter most for the verdict.
func (q quality) Top() []warning { return q.Warnings[:min(topWarnings, len(q.Warnings))] }

// Rest returns the other warnings.
func (q quality) Rest() []warning { return q.Warnings[min(topWarnings, len(q.Warnings)):] }

// Reworded returns the other wordings of all warnings.
func (q quality) Reworded() (out []harness.Warning) {
	for _, w := range q.Warnings {
		out = append(out, w.More()...)
	}
	return out
}

// Further reports whether there are warnings beside Top.
func (q quality) Further() bool { return len(q.Rest()) > 0 || len(q.Reworded()) > 0 }

// RestHead says what these are.
func (q quality) RestHead() string {
	switch rest, words := len(q.Rest()), len(q.Reworded()); {
	case rest == 0:
		return numfmt.Plural(words, "more wording") + " of these"
	case words == 0:
		return numfmt.Plural(rest, "more kind") + " of warning"
	default:
		return fmt.Sprintf("%s of warning, and %s", numfmt.Plural(rest, "more kind"), numfmt.Plural(words, "other wording"))
	}
}

// skipped is locks that were not measured, for one reason.
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

// skips gathers ss by their reasons, in order.
func skips(ss []resultfile.Skip) (out []skipped) {
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

// assess collects the warnings of run, in the order of what they do to the verdicts vs.
func assess(run *resultfile.Run, vs []verdict.Verdict) quality {
	q := quality{Partial: partial(run), Skipped: skips(run.Manifest.Skipped), Damage: run.Damage, Checks: checks(run)}
	c := newCensus(run, vs)
	for _, w := range run.Manifest.Warnings {
		c.whole(readable(w))
	}
	for _, w := range drifts(run) {
		c.whole(readable(w))
	}
	for _, r := range run.Results {
		for _, w := range r.Warnings {
			c.of(r, readable(w))
		}
		if len(r.Retries) > 0 {
			c.of(r, readable(retried(r)))
		}
	}
	for _, f := range findings(run) {
		for _, w := range f.Warnings {
			c.experiment(f.Name, readable(w))
		}
	}
	q.Warnings = c.warnings()
	return q
}

// retried warns of a result that came only at another try.
func retried(r *harness.Result) harness.Warning {
	return harness.Warning{Kind: "retried",
		Text:   fmt.Sprintf("%s was measured again, its process having been killed from outside: %s", r.Lock.Name, r.Retries[0]),
		Remedy: "look whether the kernel ran out of memory (dmesg), or what else ended it; a lock that kills its own process looks the same"}
}

// WarningKinds returns the kinds of the warnings that [Warnings] may return: those
// about the machine, then those about what was measured.
func WarningKinds() []string {
	return append(machine.WarningKinds(), "overlap", "late", "clipped", "messages", "transfer", "round-trip", "lost", "retried", "drift", "ranks", "cold", otherKind)
}

// Warnings returns what the report of run warns of. Those that differ in nothing
// but their figures count as one.
func Warnings(run *resultfile.Run) (ws []harness.Warning) {
	kinds := WarningKinds()
	for _, kind := range assess(tidy(run), nil).Warnings {
		for _, w := range kind.Variants {
			if !slices.Contains(kinds, w.Kind) {
				w.Kind = otherKind
			}
			ws = append(ws, w)
		}
	}
	return ws
}

// partial says how far a run got that did not end, or "".
func partial(run *resultfile.Run) string {
	m := run.Manifest
	if !m.Interrupted && !m.Finished.IsZero() {
		return ""
	}
	if n := len(findings(run)); m.Cases == 0 && len(run.Results) == 0 && n > 0 {
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
	// Open loops are perhaps not in every round. Those of which nothing was measured are not known.
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

// Good reports whether nothing speaks against the run.
func (q quality) Good() bool {
	return q.Partial == "" && len(q.Warnings) == 0 && len(q.Skipped) == 0 && len(q.Damage) == 0
}

// Headline sums q up.
func (q quality) Headline() string {
	if q.Good() {
		return "Run quality: nothing to report."
	}
	var parts []string
	for _, p := range []struct {
		n    int
		noun string
	}{{len(q.Warnings), "kind"}, {q.skippedLocks(), "lock"}, {len(q.Damage), "line"}} {
		if p.n == 0 {
			continue
		}
		parts = append(parts, numfmt.Plural(p.n, p.noun)+map[string]string{
			"kind": " of warning", "lock": " not measured", "line": " of the file damaged",
		}[p.noun])
	}
	if len(parts) == 0 {
		return "Run quality: the run did not end."
	}
	return "Run quality: " + numfmt.List(parts, 3) + "."
}

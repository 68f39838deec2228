package reports

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"

	"locklab/harness"
	"locklab/harness/resultfile"
	"locklab/internal/machine"
	"locklab/internal/numfmt"
)

// quality is the evidence for and against a run.
type quality struct {
	Partial  string    // why the run is not whole, or ""
	Warnings []warning // most frequent first
	Skipped  []resultfile.Skip
	Damage   []string
	Checks   []machine.Check // all that was looked at, good or bad
}

// A warning is one kind of warning.
type warning struct {
	harness.Warning        // one of them
	Where           string // "the run", or in how many results
	count           int
}

var figureRE = regexp.MustCompile(`[0-9]+([.,][0-9]+)*`)

// assess collects the warnings of run. Those that differ in nothing but their
// figures are one kind.
func assess(run *resultfile.Run) quality {
	q := quality{Partial: partial(run), Skipped: run.Manifest.Skipped, Damage: run.Damage}
	index := make(map[harness.Warning]int)
	add := func(w harness.Warning, n int) {
		kind := harness.Warning{Text: figureRE.ReplaceAllString(w.Text, "#"), Remedy: w.Remedy}
		i, known := index[kind]
		if !known {
			i = len(q.Warnings)
			index[kind] = i
			q.Warnings = append(q.Warnings, warning{Warning: w})
		}
		q.Warnings[i].count += n
	}
	for _, w := range run.Manifest.Warnings {
		add(readable(w), 0)
	}
	for _, r := range run.Results {
		for _, w := range r.Warnings {
			add(readable(w), 1)
		}
		if len(r.Retries) > 0 {
			add(readable(retried(r)), 1)
		}
	}
	for i, w := range q.Warnings {
		q.Warnings[i].Where = "the whole run"
		if w.count > 0 {
			q.Warnings[i].Where = fmt.Sprintf("%d of %s", w.count, numfmt.Plural(len(run.Results), "result"))
		}
	}
	q.Warnings = append(q.Warnings, experimental(run)...)
	for _, w := range drifts(run) {
		q.Warnings = append(q.Warnings, warning{Warning: readable(w), Where: "the whole run"})
	}
	q.Checks = checks(run)
	slices.SortStableFunc(q.Warnings, func(a, b warning) int {
		if (a.count == 0) != (b.count == 0) {
			return cmp.Compare(a.count, b.count) // what concerns the whole run comes first
		}
		return cmp.Compare(b.count, a.count)
	})
	return q
}

// retried warns of a result that came only at another try.
func retried(r *harness.Result) harness.Warning {
	return harness.Warning{Kind: "retried",
		Text:   fmt.Sprintf("%s was measured again, its process having been killed from outside: %s", r.Lock.Name, r.Retries[0]),
		Remedy: "look whether the kernel ran out of memory (dmesg), or what else ended it; a lock that kills its own process looks the same"}
}

// otherKind is the kind of a warning whose kind is not among [WarningKinds], such
// as one in the file of an older lab.
const otherKind = "other"

// WarningKinds returns the kinds of the warnings that [Warnings] may return: those
// about the machine, then those about what was measured.
func WarningKinds() []string {
	return append(machine.WarningKinds(), "overlap", "late", "clipped", "messages", "transfer", "round-trip", "lost", "retried", "drift", otherKind)
}

// Warnings returns what the report of run warns of. Those that differ in nothing
// but their figures count as one.
func Warnings(run *resultfile.Run) (ws []harness.Warning) {
	kinds := WarningKinds()
	for _, w := range assess(tidy(run)).Warnings {
		if !slices.Contains(kinds, w.Kind) {
			w.Kind = otherKind
		}
		ws = append(ws, w.Warning)
	}
	return ws
}

// experimental returns the warnings of the hardware experiments, each kind once.
func experimental(run *resultfile.Run) (out []warning) {
	where := make(map[harness.Warning][]string)
	for _, f := range findings(run) {
		for _, w := range f.Warnings {
			w = readable(w)
			if where[w] == nil {
				out = append(out, warning{Warning: w, count: 1})
			}
			if !slices.Contains(where[w], f.Name) {
				where[w] = append(where[w], f.Name)
			}
		}
	}
	for i, w := range out {
		names := where[w.Warning]
		out[i].Where = "experiment " + names[0]
		if len(names) > 1 {
			out[i].Where = "experiments " + numfmt.List(names, 4)
		}
	}
	return out
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
	per := make(map[int]int)
	for _, r := range run.Results {
		per[r.Round]++
	}
	whole := 0
	for _, n := range per {
		if m.Cases > 0 && n >= m.Cases {
			whole++
		}
	}
	return fmt.Sprintf("Partial run: %d of %s complete, %d of %d cases measured.",
		whole, numfmt.Plural(m.Rounds, "round"), len(run.Results), m.Rounds*m.Cases)
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
	}{{len(q.Warnings), "kind"}, {len(q.Skipped), "lock"}, {len(q.Damage), "line"}} {
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

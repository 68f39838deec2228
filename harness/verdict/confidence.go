package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// alone says why there is only one candidate.
const alone = "no other recommended lock was measured here"

// confidence says in a word how sure a verdict is, and in full why this lock.
func (c contest) confidence(use candidate, f ranking) (grade, why string) {
	rounds := numfmt.Plural(c.pool[0].rate.N, "round")
	if len(c.pool) == 1 {
		only := alone
		if n := len(c.rivals); n > 0 {
			only += fmt.Sprintf(", %d %s kept for reference", n, numfmt.Choose(n, "is", "are"))
		}
		return Only, only + "; " + rounds
	}
	grade = Clear
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case len(f.alike) > 1:
		grade = Tie
		add("%s", c.preference(use, f))
	case len(f.seem) > 0:
		grade = Likely
	}
	leader := c.pool[0]
	shown, untold := c.beside(use, f)
	if len(shown) > 0 {
		add("as good: %s (shown to be within %s)", numfmt.List(names(shown), 6), marginText(c.margin()))
	}
	if len(untold) > 0 {
		text := "not told apart: " + numfmt.List(names(untold), 6)
		if len(f.seem) > 0 {
			text += fmt.Sprintf(" (%s %s slower)", numfmt.List(names(f.seem), 6), numfmt.Choose(len(f.seem), "seems", "seem"))
		}
		add("%s", text)
	}
	if len(f.slower) > 0 {
		it := "it"
		if use.Series != leader.Series {
			it = leader.Lock.Name
		}
		add("%s is faster than %s, by at least %s", it, numfmt.List(names(f.slower), 6), numfmt.Percent(100*f.gain))
	}
	return grade, strings.Join(parts, "; ") + fmt.Sprintf(" (%s, %s each)", rounds, confidence(c.level))
}

// untold says that the rounds are too few to tell a lock kept for reference from
// use, or "".
func (c contest) untold(use candidate) string {
	for _, r := range c.rivals {
		if !c.compare(r, use).Enough() {
			return fmt.Sprintf("; whether a lock kept for reference is faster takes %s to tell", numfmt.Plural(stat.MinRounds(c.aside), "round"))
		}
	}
	return ""
}

// beside returns the locks beside use that were not shown to be slower than the leader:
// those shown to be as good, and the others. The leader itself is one of the others if
// use is not told apart from it.
func (c contest) beside(use candidate, f ranking) (shown, untold []candidate) {
	shown, untold = without(f.good, use), without(f.untold, use)
	if len(untold) < len(f.untold) {
		return without(shown, c.pool[0]), slices.Insert(untold, 0, c.pool[0])
	}
	return shown, untold
}

// preference says why use was taken of those that are not slower.
func (c contest) preference(use candidate, f ranking) string {
	alike := fairest(f.alike)
	fair := len(alike) < len(f.alike) // some are known to be less fair
	simple := slices.ContainsFunc(alike, func(t candidate) bool { return t.complexity > use.complexity })
	text := fmt.Sprintf("of the %d that are not slower ", len(f.alike))
	switch {
	case fair && simple:
		text += fmt.Sprintf("the fairest (Jain %s) and then the simplest (%s)", c.jain(use), use.Lock.Complexity)
	case fair:
		text += fmt.Sprintf("the fairest (Jain %s)", c.jain(use))
	case simple:
		text += fmt.Sprintf("the simplest (%s)", use.Lock.Complexity)
	default:
		text += "the one with the highest median"
	}
	if leader := c.pool[0]; use.Series != leader.Series {
		text += fmt.Sprintf("; the highest median is that of %s, %s", leader.Lock.Name, c.rate(leader.rate.Median))
		if fair && leader.fair.N > 0 {
			text += fmt.Sprintf(" (Jain %s)", c.jain(leader))
		}
	}
	return text
}

// note adds what a reader must know before using the lock.
func (v *Verdict) note(c contest, use candidate) {
	if c.terse {
		return
	}
	for _, r := range c.rivals {
		if ratio := c.compare(r, use); ratio.Read(c.margin()) == stat.Slower {
			v.Notes = append(v.Notes, fmt.Sprintf("%s, kept for reference, is %s as fast", r.Lock.Name, numfmt.Times(ratio.Median)))
		}
	}
	if v.Unfair {
		v.Notes = append(v.Notes, fmt.Sprintf("unfair: use it only where it does no harm that some workers get the lock far less often than others (Jain %s)", c.jain(use)))
	}
	if all, bad := c.disturbed(); 2*bad > all {
		v.Notes = append(v.Notes, fmt.Sprintf("%d of the %s behind this row were measured under disturbance: see the run's quality", bad, numfmt.Plural(all, "result")))
	}
}

// disturbed returns how many results of the candidates there are, and how many
// of them carry a warning that is not usual there.
func (c contest) disturbed() (all, bad int) {
	own := c.usual()
	for _, x := range c.pool {
		for _, r := range x.cell.Rounds {
			all++
			if slices.ContainsFunc(r.Warnings, func(w harness.Warning) bool {
				return !slices.Contains(own, w.Kind)
			}) {
				bad++
			}
		}
	}
	return all, bad
}

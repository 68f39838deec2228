package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// confidence says in a word how sure a verdict is, and in full why this lock.
func (c contest) confidence(use candidate, f ranking) (grade, why string) {
	rounds := numfmt.Plural(c.pool[0].rate.N, "round")
	if len(c.pool) == 1 {
		return Only, "the only candidate measured here; " + rounds
	}
	grade = Clear
	var parts []string
	if len(f.likely) > 0 {
		grade = Likely
	}
	leader := "" // of which the rest is said
	if len(f.ties) > 1 {
		grade = Tie
		parts = append(parts, c.preference(use, f))
		if leader = c.pool[0].Lock.Name + " is "; use.Series == c.pool[0].Series {
			leader = "it is "
		}
	}
	if len(f.slower) > 0 {
		parts = append(parts, fmt.Sprintf("%sfaster than %s, by at least %s", leader, numfmt.List(names(f.slower), 6), numfmt.Percent(100*(f.margin-1))))
	}
	if len(f.likely) > 0 {
		parts = append(parts, fmt.Sprintf("%sprobably much faster than %s, which is not proven", leader, numfmt.List(names(f.likely), 6)))
	}
	return grade, strings.Join(parts, "; ") + fmt.Sprintf(" (%s, %s each)", rounds, confidence(c.level))
}

// seem returns those that tie, but seem slower.
func (f ranking) seem() []candidate {
	return slices.DeleteFunc(slices.Clone(f.ties), func(t candidate) bool {
		return slices.ContainsFunc(f.alike, func(a candidate) bool { return a.Series == t.Series })
	})
}

// names returns the names of the locks of cs.
func names(cs []candidate) (out []string) {
	for _, c := range cs {
		out = append(out, c.Lock.Name)
	}
	return out
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

// preference says why use was taken of those that tie.
func (c contest) preference(use candidate, f ranking) string {
	var fair, simple bool // some are less fair; some are as fair and less simple
	alike := fairest(f.alike)
	fair = len(alike) < len(f.alike)
	for _, t := range alike {
		if t.complexity > use.complexity {
			simple = true
		}
	}
	text := fmt.Sprintf("of the %d that tie ", len(f.ties))
	if len(f.alike) < len(f.ties) {
		text += fmt.Sprintf("(%s %s slower, which is not proven) ", numfmt.List(names(f.seem()), 6), numfmt.Choose(len(f.ties)-len(f.alike), "seems", "seem"))
	}
	switch {
	case fair && simple:
		text += fmt.Sprintf("the fairest (Jain %s) and then the simplest (%s)", numfmt.Percent(use.jain), use.Lock.Complexity)
	case fair:
		text += fmt.Sprintf("the fairest (Jain %s)", numfmt.Percent(use.jain))
	case simple:
		text += fmt.Sprintf("the simplest (%s)", use.Lock.Complexity)
	default:
		text += "the one with the highest median"
	}
	if leader := c.pool[0]; use.Series != leader.Series {
		text += fmt.Sprintf("; the highest median is that of %s, %s", leader.Lock.Name, c.rate(leader.rate.Median))
		if fair {
			text += fmt.Sprintf(" (Jain %s)", numfmt.Percent(leader.jain))
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
		if ratio := c.compare(r, use); ratio.Greater() {
			v.Notes = append(v.Notes, fmt.Sprintf("%s, kept for reference, is %s as fast", r.Lock.Name, numfmt.Times(ratio.Median)))
		}
	}
	if v.Unfair {
		v.Notes = append(v.Notes, fmt.Sprintf("unfair: use it only where some workers may wait for others' sake (Jain %s)", v.Jain))
	}
	if all, bad := c.disturbed(); 2*bad > all {
		v.Notes = append(v.Notes, fmt.Sprintf("%d of the %s behind this row were measured under disturbance: see the run's quality", bad, numfmt.Plural(all, "result")))
	}
}

// disturbed returns how many results of the candidates there are, and how many
// of them carry a warning. The servers of a remote lock are other processes too,
// and workers that fill the CPUs wait for them in any case.
func (c contest) disturbed() (all, bad int) {
	var own []string
	switch {
	case c.g.Remote:
		own = []string{"", "clipped", "others", "pressure"}
	case c.workers >= c.g.CPUs:
		own = []string{"pressure"}
	}
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

// rows lists every lock of c with its rate over that of the leader, the fastest
// first.
func (c contest) rows(use candidate) (out []Rival) {
	if c.terse {
		return nil
	}
	all := append(slices.Clone(c.pool), c.rivals...)
	slices.SortStableFunc(all, func(a, b candidate) int {
		switch {
		case a.rate.Median > b.rate.Median:
			return -1
		case a.rate.Median < b.rate.Median:
			return 1
		}
		return 0
	})
	for _, x := range all {
		r := Rival{Lock: x.Lock.Name, Rate: c.rate(x.rate.Median), P99: c.p99(x), Jain: c.Situation.fairness(x), Cost: c.cost(x)}
		ratio := c.compare(x, c.pool[0])
		r.Ratio, r.Reading = ratioText(ratio), relation(ratio, c.alone(x, c.pool[0]))
		if x.Series == c.pool[0].Series {
			r.Ratio, r.Reading = "1", "leads"
		}
		if use.Series != nil && x.Series == use.Series {
			r.Reading += ", recommended"
		}
		if x.Lock.Status == harness.Reference {
			r.Reading += "; kept for reference"
		}
		out = append(out, r)
	}
	return out
}

// ratioText formats a ratio with its interval.
func ratioText(c stat.Ratio) string {
	switch {
	case c.N == 0:
		return numfmt.Unknown
	case !c.Enough():
		return numfmt.Number(c.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", numfmt.Number(c.Median), numfmt.Number(c.Lo), numfmt.Number(c.Hi))
}

// relation says what a ratio to the leader says.
func relation(c, alone stat.Ratio) string {
	switch {
	case !c.Enough():
		return "too few rounds in common"
	case c.Greater():
		return "faster"
	case c.Less():
		return "slower"
	case alone.Less() && alone.Lo < 1.0/noiseFactor:
		return "probably slower"
	}
	return "not told apart"
}

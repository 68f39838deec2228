package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
)

// surety says how sure a verdict is, in a word and in full.
func (c contest) surety(use candidate, f ranking) (grade, why string) {
	leader, rounds := c.pool[0].lock.Name, plural(c.pool[0].rate.N, "round")
	evidence := fmt.Sprintf(" (in %s, at %s each)", rounds, percent(100*c.level))
	tied := slices.DeleteFunc(names(f.ties), func(name string) bool { return name == use.lock.Name })
	var parts []string
	if len(tied) > 0 {
		parts = append(parts, "not told apart from "+list(tied, 6))
	}
	if len(f.slower) > 0 {
		subject := ""
		if len(tied) > 0 {
			subject = leader + " is "
		}
		parts = append(parts, subject+fmt.Sprintf("faster than %s, by at least %s", list(names(f.slower), 6), percent(100*(f.margin-1))))
	}
	if len(f.likely) > 0 {
		parts = append(parts, list(names(f.likely), 6)+" probably slower by much, which is not proven")
	}
	why = strings.Join(parts, "; ") + evidence
	switch {
	case len(c.pool) == 1:
		return gradeOnly, "the only candidate measured here; " + rounds
	case len(tied) > 0:
		return gradeTie, why + ". " + c.preference(use, f.ties)
	case len(f.likely) > 0:
		return gradeLikely, why
	}
	return gradeClear, why
}

// names returns the names of the locks of cs.
func names(cs []candidate) (out []string) {
	for _, c := range cs {
		out = append(out, c.lock.Name)
	}
	return out
}

// preference says why use was taken of ties.
func (c contest) preference(use candidate, ties []candidate) string {
	leader := c.pool[0]
	fair, simple := 0, 0 // ties that are less fair, and ties that are as fair and less simple
	for _, t := range ties {
		switch {
		case t.fairness() < use.fairness():
			fair++
		case t.complexity() > use.complexity():
			simple++
		}
	}
	why := "for the highest median"
	switch {
	case fair > 0 && simple > 0:
		why = fmt.Sprintf("as the fairest (Jain %s) and then the simplest (%s)", percent(use.jain), use.lock.Complexity)
	case fair > 0:
		why = fmt.Sprintf("as the fairest (Jain %s)", percent(use.jain))
	case simple > 0:
		why = fmt.Sprintf("as the simplest (%s)", use.lock.Complexity)
	}
	text := "Taken of these " + why
	if use.series != leader.series {
		text += fmt.Sprintf("; the highest median is that of %s, %s", leader.lock.Name, c.rate(leader.rate.Median))
		if fair > 0 {
			text += fmt.Sprintf(" (Jain %s)", percent(leader.jain))
		}
	}
	return text
}

// note adds what a reader must know before using the lock.
func (v *verdict) note(c contest, use candidate) {
	for _, r := range c.rivals {
		if ratio := c.compare(r, use); ratio.Greater() {
			v.Notes = append(v.Notes, fmt.Sprintf("%s, kept for reference, is %s as fast", r.lock.Name, times(ratio.Median)))
		}
	}
	if use.rate.Hi > noiseFactor*use.rate.Lo {
		v.Notes = append(v.Notes, fmt.Sprintf("the rate itself is only known to lie between %s and %s", c.rate(use.rate.Lo), c.rate(use.rate.Hi)))
	}
	if v.Unfair {
		v.Notes = append(v.Notes, fmt.Sprintf("unfair: use it only where some workers may wait for others' sake (Jain %s)", v.Jain))
	}
	if all, bad := c.disturbed(); 2*bad > all {
		v.Notes = append(v.Notes, fmt.Sprintf("measured under disturbance: %d of the %s behind this row carry a warning. The intervals show how much that matters; the figures themselves may be off", bad, plural(all, "result")))
	}
}

// disturbed returns how many results of the candidates there are, and how many
// of them carry a warning. The servers of a remote lock are other processes too.
func (c contest) disturbed() (all, bad int) {
	for _, x := range c.pool {
		for _, r := range x.cell.rounds {
			all++
			if slices.ContainsFunc(r.Warnings, func(w harness.Warning) bool {
				return !c.g.remote || !slices.Contains([]string{"", "others", "pressure"}, w.Kind)
			}) {
				bad++
			}
		}
	}
	return all, bad
}

// rows lists every lock of c with its rate over that of the leader, the fastest
// first.
func (c contest) rows(use candidate) (out []rival) {
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
		r := rival{Lock: x.lock.Name, Rate: c.rate(x.rate.Median), P99: c.p99(x), Jain: c.situation.fairness(x), Cost: c.cost(x)}
		ratio := c.compare(x, c.pool[0])
		r.Ratio, r.Reading = ratioText(ratio), relation(ratio, c.alone(x, c.pool[0]))
		if x.series == c.pool[0].series {
			r.Ratio, r.Reading = "1", "leads"
		}
		if use.series != nil && x.series == use.series {
			r.Reading += ", recommended"
		}
		if x.lock.Status == harness.Reference {
			r.Reading += "; kept for reference"
		}
		out = append(out, r)
	}
	return out
}

// ratioText formats a ratio with its interval.
func ratioText(c metric.Comparison) string {
	switch {
	case c.N == 0:
		return unknown
	case !c.Enough():
		return figures(c.Median)
	}
	return fmt.Sprintf("%s (%s to %s)", figures(c.Median), figures(c.Lo), figures(c.Hi))
}

// relation says what a ratio to the leader says.
func relation(c, alone metric.Comparison) string {
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

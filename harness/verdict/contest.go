package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// A candidate is a lock in a situation.
type candidate struct {
	*Series
	cell *Cell
	rate stat.Summary
	fair stat.Summary // of the fairness index; N is 0 where it has no meaning

	complexity harness.Complexity
}

// candidates returns the locks of s with one of the given statuses and a rate.
func (s Situation) candidates(statuses ...harness.Status) (out []candidate) {
	for _, x := range s.g.At(s.workers) {
		c := x.Cells[s.workers]
		rate := c.Summary(s.metric())
		if !slices.Contains(statuses, x.Lock.Status) || !eligible(x.Lock) || !s.admits(x.Lock) || rate.N == 0 || !(rate.Median > 0) {
			continue
		}
		out = append(out, candidate{x, c, rate, c.Summary(fairness), s.complexity(x.Lock)})
	}
	slices.SortStableFunc(out, byRate)
	return out
}

// byRate orders candidates by rate, the fastest first, then by name.
func byRate(a, b candidate) int {
	switch {
	case a.rate.Median > b.rate.Median:
		return -1
	case a.rate.Median < b.rate.Median:
		return 1
	}
	return strings.Compare(a.Lock.Name, b.Lock.Name)
}

// A contest is the locks of a situation: those of which one may be used, in
// order of rate, and those to compare them with.
type contest struct {
	Situation
	pool, rivals []candidate
	met          int     // locks that may be used in the situation, before some of them were selected
	level        float64 // of each comparison within the pool
	aside        float64 // of each comparison with a rival
}

// contest returns the locks of s. Where none is meant for use, those kept for
// reference are the candidates. The levels are those of all locks of the situation
// also where s considers some of them, so that all that its row says holds together.
func (s Situation) contest() contest {
	pool, rivals := s.entrants()
	c := contest{Situation: s, pool: pool, rivals: rivals}
	s.only = nil
	met := s.met()
	c.met = met.pool
	c.level, c.aside = levels(met.pool, met.rivals)
	if len(rivals) > 0 {
		c.aside = c.unspent(s.candidates(harness.Recommended), met)
	}
	return c
}

// unspent returns the level of comparisons with rivals by what those among all locks for
// use leave of the 5 %: an order-statistic interval holds with at least its level, and
// with so many rounds with more.
func (c contest) unspent(all []candidate, met turnout) float64 {
	each := 1 - c.level
	spent := each * float64(stat.Pairs(met.pool, 0)-stat.Pairs(len(all), 0))
	for i, a := range all {
		for _, b := range all[:i] {
			spent += min(each, 1-c.compareAt(a, b, c.level).Confidence)
		}
	}
	left := (1 - stat.Level(1) - spent) / float64(met.pool*met.rivals)
	return min(c.aside, 1-left)
}

// met returns how many locks of s may be used, and how many there are beside them.
func (s Situation) met() turnout {
	counts := make(map[harness.Status]int)
	for _, x := range s.g.At(s.workers) {
		if eligible(x.Lock) && slices.ContainsFunc(x.Cells[s.workers].Figures(s.metric()), func(v float64) bool { return v > 0 }) {
			counts[x.Lock.Status]++
		}
	}
	return turnoutOf(counts, s.anyStatus())
}

// entrants returns the candidates of s, and the locks to compare them with.
func (s Situation) entrants() (pool, rivals []candidate) {
	if s.anyStatus() {
		return s.candidates(harness.Recommended, harness.Reference), nil
	}
	pool, rivals = s.candidates(harness.Recommended), s.candidates(harness.Reference)
	if len(pool) == 0 {
		return rivals, nil
	}
	return pool, rivals
}

// anyStatus reports whether locks kept for reference may be used in s.
func (s Situation) anyStatus() bool { return s.g.Run.Manifest.AnyStatus() }

// margin returns by how much a lock must be slower, a share.
func (s Situation) margin() float64 { return s.g.Run.Manifest.PracticalMargin() }

// compare returns the ratio of a's rate to b's over the rounds they share.
func (c contest) compare(a, b candidate) stat.Ratio {
	level := c.level
	if slices.ContainsFunc(c.rivals, func(x candidate) bool { return x.Series == a.Series || x.Series == b.Series }) {
		level = c.aside
	}
	return c.compareAt(a, b, level)
}

func (c contest) compareAt(a, b candidate, level float64) stat.Ratio {
	xs, ys := Pairs(a.cell, b.cell, c.metric())
	return stat.Paired(xs, ys, level)
}

// alone is compare at 95 % for this comparison by itself.
func (c contest) alone(a, b candidate) stat.Ratio {
	return c.compareAt(a, b, stat.Level(1))
}

// read says how b stands to a, in words of the rule.
func (c contest) read(a, b candidate) stat.Reading { return c.compare(a, b).Read(c.margin()) }

// seems reports whether b, which is not told apart from a, seems slower.
func (c contest) seems(a, b candidate) bool {
	return c.compareAt(a, b, seeming).Read(c.margin()) == stat.Slower
}

// A ranking is how the candidates of a contest stand to their leader, in order of rate.
type ranking struct {
	good   []candidate // the leader and those that are as good
	untold []candidate // those not told apart
	seem   []candidate // those of untold that seem slower
	alike  []candidate // the others of good and untold: one of them is used
	slower []candidate
	gain   float64 // by how much the leader beats the best of slower, at least; 0 if there are none
}

// rank compares the leader with the other candidates.
func (c contest) rank() (f ranking) {
	leader := c.pool[0]
	f.good, f.alike = []candidate{leader}, []candidate{leader}
	for _, x := range c.pool[1:] {
		switch ratio := c.compare(leader, x); ratio.Read(c.margin()) {
		case stat.Slower:
			f.slower = append(f.slower, x)
			if f.gain == 0 || ratio.Lo-1 < f.gain {
				f.gain = ratio.Lo - 1
			}
			continue
		case stat.AsGood:
			f.good = append(f.good, x)
		default:
			f.untold = append(f.untold, x)
			if c.seems(leader, x) {
				f.seem = append(f.seem, x)
				continue
			}
		}
		f.alike = append(f.alike, x)
	}
	return f
}

// blur returns why use cannot be recommended, because it may be far slower than
// another one that is not slower than the leader, or "".
func (c contest) blur(use candidate, f ranking) string {
	for _, x := range without(f.alike, use) {
		if r := c.alone(x, use); !(r.Hi <= noiseFactor) && c.read(x, use) != stat.AsGood {
			return fmt.Sprintf("no verdict: too much noise. %s has the highest median, %s, but in the same rounds %s may be anything from %s to %s times as fast as %s, which would be used; use a quieter machine or a longer window",
				c.pool[0].Lock.Name, c.rate(c.pool[0].rate.Median), x.Lock.Name, numfmt.Number(r.Lo), numfmt.Number(r.Hi), use.Lock.Name)
		}
	}
	return ""
}

// undecided returns why nothing can be concluded from these rounds, or "".
func (c contest) undecided() string {
	leader, others := c.pool[0], c.pool[1:]
	need, have := stat.MinRounds(c.level), leader.rate.N
	for _, x := range others {
		if ratio := c.compare(leader, x); !ratio.Enough() {
			have = min(have, ratio.N)
		}
	}
	if len(others) == 0 {
		need = stat.MinRounds(stat.Level(1))
	}
	best := fmt.Sprintf("The highest median is that of %s, %s", leader.Lock.Name, c.rate(leader.rate.Median))
	switch {
	case have < need && len(others) == 0:
		return fmt.Sprintf("no verdict: %s, %d needed for an interval of 95 %%. %s", numfmt.Plural(have, "round"), need, best)
	case have < need:
		return fmt.Sprintf("no verdict: %s, %d needed to compare %s at 95 %% for all pairs together. %s, which may be chance",
			numfmt.Plural(have, "round"), need, numfmt.Plural(c.met, "lock"), best)
	}
	return ""
}

// known reports whether a fairness index has an interval.
func known(fair stat.Summary) bool { return fair.N > 0 && fair.Confidence >= stat.Level(1) }

// fairest returns those of ties that no other one is known to be fairer than: the
// intervals of both part by more than fairStep. Where the index is not known, or has
// no meaning since there is one worker, it decides nothing.
func fairest(ties []candidate) []candidate {
	return slices.DeleteFunc(slices.Clone(ties), func(t candidate) bool {
		return slices.ContainsFunc(ties, func(o candidate) bool {
			return known(o.fair) && known(t.fair) && o.fair.Lo-t.fair.Hi > fairStep
		})
	})
}

// complexity returns that of l under the load of s: the greatest if its author gave
// none, and one step more for a readers-writer lock where none only reads.
func (s Situation) complexity(l harness.Lock) harness.Complexity {
	switch {
	case l.Complexity == 0:
		return harness.Composed + 1
	case l.Traits.ReadWrite && s.g.Load.Reads == 0:
		return l.Complexity + 1
	}
	return l.Complexity
}

// best returns, of the fairest of ties, the simplest, and of those the
// first: they are in order of rate.
func best(ties []candidate) candidate {
	return slices.MinFunc(fairest(ties), func(a, b candidate) int { return int(a.complexity - b.complexity) })
}

// without returns cs without x.
func without(cs []candidate, x candidate) []candidate {
	return slices.DeleteFunc(slices.Clone(cs), func(c candidate) bool { return c.Series == x.Series })
}

// names returns the names of the locks of cs.
func names(cs []candidate) (out []string) {
	for _, c := range cs {
		out = append(out, c.Lock.Name)
	}
	return out
}

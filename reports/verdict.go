package reports

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
)

// A verdict says which lock to use in one situation, or why that cannot be
// said.
type verdict struct {
	Situation string // "more workers than CPUs"
	Setting   string // "64 workers on 2 CPUs, hold=100ns"
	Use       string // "" if there is no verdict
	Ties      []string
	Rate      string // median and spread
	P99       string
	Jain      string
	Unfair    bool // Jain under unfairBelow: the row carries a flag
	Cost      string
	Why       string // how sure, or why there is no verdict
	Notes     []string
}

// The rule, in words for the reader; judge and its parts carry it out.
const (
	ruleText = "The lock with the highest median rate over the rounds wins. " +
		"It is compared with every other lock by the ratio of their rates in the same round; " +
		"a lock is beaten if the order-statistic interval of that ratio lies above 1, at a confidence of 95 % for all comparisons of a row together (Bonferroni). " +
		"Locks that are not beaten tie; among them the fairer one is used (Jain's index to the nearest 5 points), then the faster one. " +
		"Only locks that are meant for use are recommended: where one of the locks kept for reference is faster, the row says so."
	handoverText = "Contended distributed locks are ranked by hand-overs per second, not by acquisitions: an owner that takes its lock back at once raises the latter without serving anybody else."
)

const (
	unfairBelow = 50 // Jain, percent
	jainStep    = 5  // points of Jain's index that count as a difference
	noiseFactor = 2  // between the bounds of a median, above which nothing is concluded
	family95    = 0.05

	mostlyReads = 50 // turns in a hundred
)

// verdicts judges every situation that the run covers.
func verdicts(run *resultfile.Run) []verdict {
	var out []verdict
	for _, g := range groups(run) {
		for _, s := range situations(g) {
			out = append(out, judge(s))
		}
	}
	return out
}

// A situation is a number of workers that stands for a degree of contention.
type situation struct {
	g       *group
	name    string
	workers int
}

// situations returns those that g covers.
func situations(g *group) (out []situation) {
	add := func(name string, w int) { out = append(out, situation{g, name, w}) }
	most := g.workers[len(g.workers)-1]
	if g.load.Reads >= mostlyReads {
		add(map[bool]string{false: "mostly readers", true: "distributed, mostly readers"}[g.remote], most)
		return out
	}
	if g.workers[0] == 1 {
		add(map[bool]string{false: "uncontended", true: "distributed, uncontended"}[g.remote], 1)
	}
	switch {
	case most < 2:
	case g.remote:
		add("distributed, contended", most)
	case g.cpus == 0:
		add("contended", most)
	default:
		for _, w := range g.workers {
			if w >= 2 && w < g.cpus {
				add("a few workers", w)
				break
			}
		}
		if g.cpus >= 2 && slices.Contains(g.workers, g.cpus) {
			add("one worker per CPU", g.cpus)
		}
		if most > g.cpus {
			add("more workers than CPUs", most)
		}
	}
	return out
}

// metric returns what s ranks by.
func (s situation) metric() *metric.Metric {
	if s.g.remote && s.workers > 1 && s.g.load.Reads == 0 { // readers hand nothing over
		return metric.Handovers
	}
	return metric.Throughput
}

// rate formats what s ranks by.
func (s situation) rate(v float64) string {
	if s.metric() == metric.Handovers {
		return si(v) + " hand-overs/s"
	}
	return perSecond(v)
}

// setting describes s with its figures.
func (s situation) setting() string {
	text := s.g.unit(s.workers)
	if !s.g.remote && s.g.cpus > 0 && s.workers > 1 {
		text += " on " + plural(s.g.cpus, "CPU")
	}
	return text + ", " + s.g.axes
}

// A candidate is a lock in a situation.
type candidate struct {
	*series
	cell *cell
	rate metric.Summary
	jain float64 // percent, 100 where it has no meaning
}

// candidates returns the locks of s with the given status and a rate.
func (s situation) candidates(status harness.Status) (out []candidate) {
	for _, x := range s.g.at(s.workers) {
		c := x.cells[s.workers]
		rate := c.summary(s.metric())
		if x.lock.Status != status || rate.N == 0 || !(rate.Median > 0) {
			continue
		}
		if x.lock.Traits.Permits > 1 {
			continue // it lets in whom others must keep out
		}
		jain := 100.0
		if v := c.summary(metric.Jain); v.N > 0 {
			jain = v.Median
		}
		out = append(out, candidate{x, c, rate, jain})
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.rate.Median > b.rate.Median:
			return -1
		case a.rate.Median < b.rate.Median:
			return 1
		}
		return strings.Compare(a.lock.Name, b.lock.Name)
	})
	return out
}

// judge applies the rule to s.
func judge(s situation) verdict {
	v := verdict{Situation: s.name, Setting: s.setting(), Rate: unknown, P99: unknown, Jain: unknown, Cost: unknown}
	pool, rivals := s.candidates(harness.Recommended), s.candidates(harness.Reference)
	if len(pool) == 0 {
		pool, rivals = rivals, nil
		if len(pool) > 0 {
			v.Notes = append(v.Notes, "only locks kept for reference were measured here")
		}
	}
	if len(pool) == 0 {
		v.Why = "no verdict: no lock that may be recommended was measured here"
		return v
	}
	leader := pool[0]
	level := 1 - family95/float64(max(1, len(pool)+len(rivals)-1))
	if why := undecided(s, leader, append(pool[1:len(pool):len(pool)], rivals...), level); why != "" {
		v.Why = why
		return v
	}
	ties := []candidate{leader}
	margin := 0.0 // by how much the leader beats the best of the beaten, at least
	for _, c := range pool[1:] {
		cmp := compare(s, leader, c, level)
		if !cmp.Greater() {
			ties = append(ties, c)
		} else if margin == 0 || cmp.Lo < margin {
			margin = cmp.Lo
		}
	}
	use := fairest(ties)
	v.fill(s, use)
	for _, c := range ties {
		if c.series != use.series {
			v.Ties = append(v.Ties, c.lock.Name)
		}
	}
	v.Why = surety(s, use, leader, len(pool), len(ties), margin, level)
	v.note(s, use, rivals, level)
	return v
}

// compare returns the ratio of a's rate to b's over the rounds they share.
func compare(s situation, a, b candidate, level float64) metric.Comparison {
	xs, ys := pairs(a.cell, b.cell, s.metric())
	return metric.Compare(xs, ys, level)
}

// undecided returns why nothing can be concluded from these rounds, or "".
func undecided(s situation, leader candidate, others []candidate, level float64) string {
	need := metric.MinRounds(level)
	have := leader.rate.N
	for _, c := range others {
		if cmp := compare(s, leader, c, level); !cmp.Enough() {
			have = min(have, cmp.N)
		}
	}
	best := fmt.Sprintf("the highest median is that of %s, %s", leader.lock.Name, s.rate(leader.rate.Median))
	switch {
	case have < need && len(others) == 0:
		return fmt.Sprintf("no verdict: n = %d. An interval of 95 %% needs %s; %s", have, plural(need, "round"), best)
	case have < need:
		return fmt.Sprintf("no verdict: n = %d. %s at 95 %% together need %s; %s",
			have, plural(len(others), "comparison"), plural(need, "round"), best)
	case leader.rate.Hi > noiseFactor*leader.rate.Lo:
		return fmt.Sprintf("no verdict: noise. The median of %s, the highest, is only known to lie between %s and %s; use a quieter machine or a longer window",
			leader.lock.Name, s.rate(leader.rate.Lo), s.rate(leader.rate.Hi))
	}
	return ""
}

// fairest returns the fairest of ties, which are in order of rate.
func fairest(ties []candidate) candidate {
	step := func(c candidate) int { return int(c.jain/jainStep + 0.5) }
	use := ties[0]
	for _, c := range ties[1:] {
		if step(c) > step(use) {
			use = c
		}
	}
	return use
}

// fill sets the figures of the lock to use.
func (v *verdict) fill(s situation, use candidate) {
	v.Use = use.lock.Name
	v.Rate = s.rate(use.rate.Median)
	if use.rate.Confidence >= 0.95 {
		v.Rate += fmt.Sprintf(" ±%.0f %%", 100*use.rate.Spread())
	}
	v.P99 = quoted(use.cell.waits(), 0.99, s.g.floor())
	if j := use.cell.summary(metric.Jain); j.N > 0 {
		v.Jain = percent(j.Median)
		v.Unfair = j.Median < unfairBelow
	}
	if s.g.remote {
		if c := use.cell.summary(metric.Requests); c.N > 0 {
			v.Cost = figures(c.Median) + " requests"
		}
	} else if c := use.cell.summary(metric.CPU); c.N > 0 {
		v.Cost = nanos(c.Median) + " CPU"
	}
}

// surety says how sure a verdict is.
func surety(s situation, use, leader candidate, all, ties int, margin, level float64) string {
	beaten := all - ties
	rounds := plural(leader.rate.N, "round")
	var text string
	switch {
	case all == 1:
		return fmt.Sprintf("the only candidate measured here; %s", rounds)
	case beaten == 0:
		text = fmt.Sprintf("not told apart from any other recommended lock (%d) in %s at %s each", all-1, rounds, percent(100*level))
	case ties == 1:
		text = fmt.Sprintf("faster than every other recommended lock (%d) by at least %s; %s at %s each", beaten, percent(100*(margin-1)), rounds, percent(100*level))
	default:
		text = fmt.Sprintf("%s is faster than all but its ties (%d of %d other recommended locks); %s at %s each", leader.lock.Name, beaten, all-1, rounds, percent(100*level))
	}
	if use.series != leader.series {
		text += fmt.Sprintf(". Preferred to %s, which has the highest median (%s), as fairer: Jain %s against %s",
			leader.lock.Name, s.rate(leader.rate.Median), percent(use.jain), percent(leader.jain))
	}
	return text
}

// note adds what a reader must know before using the lock.
func (v *verdict) note(s situation, use candidate, rivals []candidate, level float64) {
	for _, r := range rivals {
		if cmp := compare(s, r, use, level); cmp.Greater() {
			v.Notes = append(v.Notes, fmt.Sprintf("%s, kept for reference, is %s as fast", r.lock.Name, times(cmp.Median)))
		}
	}
	if v.Unfair {
		v.Notes = append(v.Notes, fmt.Sprintf("unfair: use it only where some workers may wait for others' sake (Jain %s)", v.Jain))
	}
}

// A refusal says why a lock was not considered for a verdict.
type refusal struct{ Lock, Reason string }

// refusals lists the locks of the run that no verdict may name.
func refusals(run *resultfile.Run) (out []refusal) {
	broken := violations(run)
	cases := make(map[string]int)
	locks := make(map[string]harness.Lock)
	for _, r := range run.Results {
		cases[r.Lock.Name]++
		locks[r.Lock.Name] = r.Lock
	}
	for name, lock := range locks {
		switch bad := broken[name]; {
		case bad != nil:
			first := bad[0].Violations[0]
			out = append(out, refusal{name, fmt.Sprintf("it broke the rule of %s in %d of %s: %s", first.Rule, len(bad), plural(cases[name], "result"), first.Detail)})
		case lock.Status != harness.Recommended && lock.Status != harness.Reference:
			out = append(out, refusal{name, fmt.Sprintf("its status is %s: %s", lock.Status, lock.Doc)})
		}
	}
	slices.SortFunc(out, func(a, b refusal) int { return strings.Compare(a.Lock, b.Lock) })
	return out
}

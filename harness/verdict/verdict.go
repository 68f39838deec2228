package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/internal/numfmt"
)

// A Verdict says which lock to use in one situation, or why that cannot be
// said.
type Verdict struct {
	Situation string // "more workers than CPUs"
	Meaning   string // the same in plain words
	Setting   string // "64 workers on 2 CPUs, hold=100ns"
	Use       string // "" if there is no verdict
	Doc       string // what that lock is
	Leader    string // the lock with the highest median of those considered for Use; "" if there is none
	Ties      []string
	Grade     string // how sure, in a word or two
	Rate      string // median and spread
	Median    string // the median alone
	Interval  string // its interval at 95 %, "" if there is none
	P99       string
	Jain      string
	Unfair    bool // Jain under unfairBelow: the row carries a flag
	Cost      string
	Why       string // how sure, or why there is no verdict
	Notes     []string
	Rows      []Rival // what it was compared with, the fastest first
	Level     string  // of the intervals in Rows, "" if there are none

	// Of locks kept by servers: what Use was seen to survive, and if not all locks were
	// considered for it, how many were, such as "2 of 5 locks"; the fastest of all, if it
	// is another that guarantees less.
	Class   string
	Within  string
	Instead *Choice

	// Agreement is in how many resampled runs Use is the same: see [Weigh].
	Agreement Agreement

	about Situation
}

// Remote reports whether the locks are kept by servers.
func (v Verdict) Remote() bool { return v.about.g.Remote }

// Reading reports whether most of the workload only reads.
func (v Verdict) Reading() bool { return v.about.g.class() == read }

// When says in plain words when v holds, behind the name of a lock.
func (v Verdict) When() string { return v.about.when() }

// Reason is why there is no verdict, for a row that says so anyway.
func (v Verdict) Reason() string { return numfmt.Sentence(strings.TrimPrefix(v.Why, "no verdict: ")) }

// A Rival is a lock in the table of all comparisons of a situation.
type Rival struct {
	Lock, Rate, Ratio, P99, Jain, Cost string
	Reading                            string // what the ratio says
	Class                              string // of locks kept by servers: what it was seen to survive
}

// The rule, in words for the reader; judge and its parts carry it out.
const (
	Rule = "The lock with the highest median rate over the rounds leads. " +
		"It is compared with every other lock by the ratio of their rates in the same round, so that what slows down a whole round cancels. " +
		"A lock is slower if the order-statistic interval of that ratio lies above 1, at a confidence of 95 % for all pairs of a row together (Bonferroni; 4.5 of the 5 % are for pairs of locks for use, any of which might have led, and the rest for those with a lock kept for reference). " +
		"Locks that are not slower tie, unless they are probably slower by more than twice. That rounds do not tell two locks apart does not make them equal: of the ties only those are considered that do not even seem slower, at 80 % by themselves. Of these the fairer one is used (by more than 5 points of Jain's index), then the simpler one (of the standard library, then with one word or key, then with one for each waiter, then put together), then the faster one. " +
		"Where a lock may as well be faster than the leader as slower by more than twice, there is too much noise for a verdict. " +
		"Only locks that are meant for use are recommended: where one of the locks kept for reference is faster, the row says so."
	HandoverRule = "Contended distributed locks are ranked by hand-overs per second, not by acquisitions: an owner that takes its lock back at once raises the latter without serving any other."
)

const (
	unfairBelow = 50 // Jain, percent
	jainStep    = 5  // points of Jain's index that count as a difference
	noiseFactor = 2  // by how much the leader may be faster than a lock that ties

	// A lock seems slower than the leader if the interval of this level lies
	// above 1: by chance one of two equal locks does in one run of five at most.
	seeming = 0.8

	mostlyReads = 50 // acquisitions in a hundred
)

// The grades of a verdict.
const (
	Clear  = "clear winner"
	Likely = "likely winner"
	Tie    = "tie"
	Only   = "only candidate"
	None   = "no verdict"
)

// All judges every degree of contention that the run covers.
func All(run *resultfile.Run) []Verdict {
	first, _ := Standing(Groups(run))
	return JudgeAll(first)
}

// JudgeAll applies the rule to each of ss.
func JudgeAll(ss []Situation) (out []Verdict) {
	for _, s := range ss {
		out = append(out, Judge(s))
	}
	return out
}

// A candidate is a lock in a situation.
type candidate struct {
	*Series
	cell *Cell
	rate stat.Summary
	jain float64 // percent, 100 where it has no meaning

	complexity harness.Complexity
}

// candidates returns the locks of s with the given status and a rate.
func (s Situation) candidates(status harness.Status) (out []candidate) {
	for _, x := range s.g.At(s.workers) {
		c := x.Cells[s.workers]
		rate := c.Summary(s.metric())
		if x.Lock.Status != status || !eligible(x.Lock) || !s.admits(x.Lock) || rate.N == 0 || !(rate.Median > 0) {
			continue
		}
		jain := 100.0
		if v := c.Summary(metric.Jain); v.N > 0 {
			jain = v.Median
		}
		out = append(out, candidate{x, c, rate, jain, s.complexity(x.Lock)})
	}
	slices.SortStableFunc(out, func(a, b candidate) int {
		switch {
		case a.rate.Median > b.rate.Median:
			return -1
		case a.rate.Median < b.rate.Median:
			return 1
		}
		return strings.Compare(a.Lock.Name, b.Lock.Name)
	})
	return out
}

// A contest is the locks of a situation: those of which one may be used, in
// order of rate, and those to compare them with.
type contest struct {
	Situation
	pool, rivals []candidate
	level        float64 // of each comparison within the pool
	aside        float64 // of each comparison with a rival
}

// contest returns the locks of s. Where none is meant for use, those kept for
// reference are the candidates.
func (s Situation) contest() contest {
	c := contest{Situation: s, pool: s.candidates(harness.Recommended), rivals: s.candidates(harness.Reference)}
	if len(c.pool) == 0 {
		c.pool, c.rivals = c.rivals, nil
	}
	c.level, c.aside = levels(len(c.pool), len(c.rivals))
	return c
}

// Judge applies the rule to s; to locks kept by servers within a class of guarantees.
func Judge(s Situation) Verdict {
	if s.g.Remote {
		return judgeRemote(s)
	}
	return judge(s)
}

// judge applies the rule to the locks that s considers.
func judge(s Situation) Verdict {
	v := Verdict{Situation: s.name, Meaning: s.meaning(), Setting: s.setting(), Grade: None,
		Rate: numfmt.Unknown, Median: numfmt.Unknown, P99: numfmt.Unknown, Jain: numfmt.Unknown, Cost: numfmt.Unknown, about: s}
	c := s.contest()
	if len(c.pool) == 0 {
		v.Why = "no verdict: no lock that may be recommended was measured here"
		return v
	}
	if c.pool[0].Lock.Status == harness.Reference {
		v.Notes = append(v.Notes, "only locks kept for reference were measured here")
	}
	v.Leader = c.pool[0].Lock.Name
	f := c.rank()
	if v.Why = c.undecided(); v.Why != "" {
		v.Rows = c.rows(candidate{})
		return v
	}
	v.Level = c.levelText()
	if v.Why = f.blur; v.Why != "" {
		v.Rows = c.rows(candidate{})
		return v
	}
	use := best(f.alike)
	v.fill(s, use)
	for _, t := range f.ties {
		if t.Series != use.Series {
			v.Ties = append(v.Ties, t.Lock.Name)
		}
	}
	v.Grade, v.Why = c.confidence(use, f)
	v.Why += c.untold(use)
	v.note(c, use)
	v.Rows = c.rows(use)
	return v
}

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

// A ranking is how the candidates of a contest stand to their leader.
type ranking struct {
	ties   []candidate // the leader and those that it does not beat, in order of rate
	alike  []candidate // those of ties that do not even seem slower: one of them is used
	likely []candidate // probably slower by much: not proven at the level of all pairs, but at 95 % by itself
	slower []candidate
	margin float64 // by how much the leader beats the best of slower, at least; 0 if there are none
	blur   string  // why those that are not told apart cannot be called a tie either, or ""
}

// rank compares the leader with the other candidates. First it asks of each
// whether it is slower beyond chance. That it is not does not make it equal: a lock
// that seems slower ties, but is not used for being fairer or simpler.
func (c contest) rank() (f ranking) {
	leader := c.pool[0]
	f.ties, f.alike = []candidate{leader}, []candidate{leader}
	for _, x := range c.pool[1:] {
		ratio, alone := c.compare(leader, x), c.alone(leader, x)
		switch {
		case ratio.Greater():
			f.slower = append(f.slower, x)
			if f.margin == 0 || ratio.Lo < f.margin {
				f.margin = ratio.Lo
			}
		case alone.Hi <= noiseFactor:
			f.ties = append(f.ties, x)
			if !c.compareAt(leader, x, seeming).Greater() {
				f.alike = append(f.alike, x)
			}
		case alone.Lo > 1:
			f.likely = append(f.likely, x)
		case f.blur == "":
			f.blur = fmt.Sprintf("no verdict: too much noise. %s has the highest median, %s, but in the same rounds it may be anything from %s to %s times as fast as %s; use a quieter machine or a longer window",
				leader.Lock.Name, c.rate(leader.rate.Median), numfmt.Number(alone.Lo), numfmt.Number(alone.Hi), x.Lock.Name)
		}
	}
	return f
}

// alone is compare at 95 % for this comparison by itself.
func (c contest) alone(a, b candidate) stat.Ratio {
	return c.compareAt(a, b, stat.Level(1))
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
	best := fmt.Sprintf("The highest median is that of %s, %s", leader.Lock.Name, c.rate(leader.rate.Median))
	switch {
	case have < need && len(others) == 0:
		return fmt.Sprintf("no verdict: %s, %d needed for an interval of 95 %%. %s", numfmt.Plural(have, "round"), need, best)
	case have < need:
		return fmt.Sprintf("no verdict: %s, %d needed to compare %s at 95 %% for all pairs together. %s, which may be chance",
			numfmt.Plural(have, "round"), need, numfmt.Plural(1+len(others), "lock"), best)
	}
	return ""
}

// fairest returns those of ties whose Jain's index is within jainStep of the
// greatest. Where it says nothing, since there is one worker, all are alike.
func fairest(ties []candidate) (out []candidate) {
	var most float64
	for _, t := range ties {
		most = max(most, t.jain)
	}
	for _, t := range ties {
		if t.jain >= most-jainStep {
			out = append(out, t)
		}
	}
	return out
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

// fill sets the figures of the lock to use.
func (v *Verdict) fill(s Situation, use candidate) {
	v.Use, v.Doc = use.Lock.Name, use.Lock.Doc
	v.Median = s.rate(use.rate.Median)
	v.Rate = v.Median
	if use.rate.Confidence >= 0.95 {
		v.Rate += fmt.Sprintf(" ±%.0f %%", 100*use.rate.Spread())
		v.Interval = numfmt.SI(use.rate.Lo) + " to " + numfmt.SI(use.rate.Hi)
	}
	v.P99, v.Jain, v.Cost = s.p99(use), s.fairness(use), s.cost(use)
	v.Unfair = v.Jain != numfmt.Unknown && use.jain < unfairBelow
}

func (s Situation) p99(x candidate) string {
	if s.terse { // to merge the waits of all rounds takes longer than all the rest
		return numfmt.Unknown
	}
	return Quoted(x.cell.Waits(), 0.99, s.g.Floor())
}

func (s Situation) fairness(x candidate) string {
	if j := x.cell.Summary(metric.Jain); j.N > 0 {
		return numfmt.Percent(j.Median)
	}
	return numfmt.Unknown
}

// cost is what an acquisition of x costs, of messages or of processor time.
func (s Situation) cost(x candidate) string {
	if s.g.Remote {
		if c := x.cell.Summary(metric.Requests); c.N > 0 {
			return numfmt.Number(c.Median) + " requests"
		}
	} else if c := x.cell.Summary(metric.CPU); c.N > 0 {
		return numfmt.Nanos(c.Median) + " CPU"
	}
	return numfmt.Unknown
}

// Quoted formats quantile q of h: "≤ floor" below what the clock resolves,
// and a dash above what the samples do.
func Quoted(h harness.Histogram, q, floor float64) string {
	v, ok := metric.Quantile(h, q)
	switch {
	case !ok:
		return numfmt.Unknown
	case v < floor:
		return "≤ " + numfmt.Nanos(floor)
	}
	return numfmt.Nanos(v)
}

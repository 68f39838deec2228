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

	// Caveat says why Use, which the rule chose, is not recommended all the same: it had
	// nothing to be compared with, or no lock of the kind to use was measured; "" if it is
	// recommended. Among are the locks of which it is the choice then, in words; "" if it
	// was the only one.
	Caveat, Among string

	Leader   string   // the lock with the highest median of those considered for Use; "" if there is none
	AsGood   []string // other locks that were shown to be within the margin of the fastest, by rate
	Untold   []string // those that were shown neither that nor to be slower
	Grade    string   // how sure, in a word or two
	Rate     string   // median and spread
	Median   string   // the median alone
	Interval string   // its interval at 95 %, "" if there is none
	P99      string
	P99Why   string // why P99 is not known, if it is not
	Jain     string
	Unfair   bool // Jain's interval lies under unfairBelow: the row carries a flag
	Cost     string
	Why      string // how sure, or why there is no verdict
	Notes    []string

	// Class is what Use was seen to survive, of a lock kept by servers. If not all locks
	// were considered for it, Within says how many were, such as "2 of 5 locks", and
	// Instead is a lock of the others, if it is faster by more than the margin.
	Class   string
	Within  string
	Instead *Choice

	// Unfit is a lock that is faster by more than the margin and is not for the situation,
	// or nil: Where is the condition that does not hold there.
	Unfit *Choice

	// Sections is what is chosen with other data behind the lock: see [WithSections].
	Sections []SectionChoice

	// Agreement is in how many resampled runs Use is the same: see [Weigh].
	Agreement Agreement

	about Situation
}

// Ties returns the locks beside Use that were not shown to be slower.
func (v Verdict) Ties() []string { return slices.Concat(v.AsGood, v.Untold) }

// Recommends reports whether Use is a lock to use.
func (v Verdict) Recommends() bool { return v.Use != "" && v.Caveat == "" }

// Remote reports whether the locks are kept by servers.
func (v Verdict) Remote() bool { return v.about.g.Remote }

// Reading reports whether most of the workload only reads.
func (v Verdict) Reading() bool { return v.about.g.class() == read }

// When says in plain words when v holds, behind the name of a lock.
func (v Verdict) When() string { return v.about.when() }

// WhenBeside is When behind the words of other situations in which the same lock is
// chosen: of servers that are not the default, where it is chosen for the default ones too,
// it names only these.
func (v Verdict) WhenBeside(others []string) string {
	when, servers := v.When(), v.about.g.deployment()
	if servers != "" && slices.Contains(others, strings.TrimSuffix(when, on+servers)) {
		return "also" + on + servers
	}
	return when
}

// Reason is why there is no verdict, for a row that says so anyway.
func (v Verdict) Reason() string { return numfmt.Sentence(strings.TrimPrefix(v.Why, "no verdict: ")) }

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

// Judge applies the rule to s: to locks kept by servers within a class of guarantees,
// to others within a tier.
func Judge(s Situation) Verdict {
	if s.g.Remote {
		return judgeRemote(s)
	}
	return judgeLocal(s)
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
	v.Leader = c.pool[0].Lock.Name
	f := c.rank()
	if v.Why = c.undecided(); v.Why != "" {
		return v
	}
	use := best(f.alike)
	if v.Why = c.blur(use, f); v.Why != "" {
		return v
	}
	v.fill(s, use)
	shown, untold := c.beside(use, f)
	v.AsGood, v.Untold = names(shown), names(untold)
	v.Grade, v.Why = c.confidence(use, f)
	v.Why += c.untold(use)
	v.note(c, use)
	return v
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
	if v.P99 == numfmt.Unknown && !s.terse {
		v.P99Why = s.untimed(use)
	}
	v.Unfair = known(use.fair) && use.fair.Hi < unfairBelow
}

func (s Situation) p99(x candidate) string {
	if s.terse { // to merge the waits of all rounds takes longer than all the rest
		return numfmt.Unknown
	}
	return Quoted(x.cell.Waits(), 0.99, s.g.Floor())
}

// untimed says why the p99 of x is not known.
func (s Situation) untimed(x candidate) string {
	n := x.cell.Waits().Count()
	if n == 0 {
		return "no wait was timed"
	}
	return fmt.Sprintf("%s timed, it takes %d", numfmt.Plural(int(n), "wait"), metric.Needed(0.99))
}

func (s Situation) fairness(x candidate) string {
	switch {
	case x.fair.N == 0:
		return numfmt.Unknown
	case known(x.fair):
		return fmt.Sprintf("%s (%s)", numfmt.Percent(x.fair.Median), span(x.fair))
	}
	return numfmt.Percent(x.fair.Median)
}

// jain is fairness for a text in brackets.
func (s Situation) jain(x candidate) string {
	if known(x.fair) {
		return fmt.Sprintf("%s, %s", numfmt.Percent(x.fair.Median), span(x.fair))
	}
	return s.fairness(x)
}

// span formats the interval of a share in percent.
func span(v stat.Summary) string {
	return strings.TrimSuffix(numfmt.Percent(v.Lo), numfmt.Space+"%") + " to " + numfmt.Percent(v.Hi)
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
	switch f := quantile(h, q, floor); {
	case f == nil:
		return numfmt.Unknown
	case f.AtMost:
		return "≤ " + numfmt.Nanos(f.Value)
	default:
		return numfmt.Nanos(f.Value)
	}
}

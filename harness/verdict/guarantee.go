package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/stat"
	"locklab/harness/survival"
	"locklab/internal/numfmt"
)

// TestCommand is how locks are tested for failures, for reports of runs that lack it.
const TestCommand = "locklab chaos --out DIR"

// NotTested is the class of a lock that no failure scenario was tried on.
const NotTested = "not tested for failures"

// ClassRule says how guarantees come before speed, for the reader.
const ClassRule = "Distributed locks are first sorted by what failures they were seen to survive, in this run or in the named runs of failure scenarios, and never by what they claim: " +
	"first those that survive the loss of a server without two holders and whose tokens refuse a paused holder, then those that do the first alone, then the second alone, then those whose tokens do so until a failover, then those that were tested and do neither; one that stays taken after its holder has died is of these too. " +
	"The rule is applied to the locks of the first such class that was tested here; the fastest of all is named beside it, with what it gives up."

// A Choice is a lock and what goes with it.
type Choice struct {
	Lock, Rate string
	Class      string // what it was seen to survive
	Where      string // where that is enough, behind "where"
}

// admits reports whether s considers l.
func (s Situation) admits(l harness.Lock) bool { return s.only == nil || s.only(l) }

// classes returns what each lock of g was seen to survive.
func (g *Group) classes() map[string]survival.Class {
	out := make(map[string]survival.Class)
	for _, s := range g.Series {
		out[s.Lock.Name] = survival.ClassOf(g.Run.Faults, s.Lock.Name)
	}
	return out
}

// has reports whether c has every guarantee that the run is asked for.
func (g *Group) has(c survival.Class) bool { return lacks(c, g.Run.Require) == "" }

// lacks says which of wanted c does not have and why, or "".
func lacks(c survival.Class, wanted []harness.Guarantee) string {
	var why []string
	for _, g := range wanted {
		if text := c.Lacks(g); text != "" {
			why = append(why, text)
		}
	}
	return strings.Join(why, "; ")
}

// judgeRemote applies the rule to the locks of s of the strongest class that was
// tested, and to all.
func judgeRemote(s Situation) Verdict {
	classes := s.g.classes()
	s.only = func(l harness.Lock) bool { return s.g.has(classes[l.Name]) }
	all, whole := judge(s), s.contest()
	if len(whole.pool) == 0 && len(s.g.Run.Require) > 0 {
		all.Why = s.unmet(classes)
		return all
	}
	strongest := survival.Unknown
	for _, c := range whole.pool {
		strongest = max(strongest, classes[c.Lock.Name].Strength)
	}
	v := all
	if strongest > survival.Unknown {
		s.only = func(l harness.Lock) bool {
			return s.g.has(classes[l.Name]) && classes[l.Name].Strength == strongest
		}
		v = whole.within(s, "of its class no other is recommended", "those of its class")
	}
	v.withhold(whole, 0)
	if v.Use == "" {
		return v
	}
	v.Class = classSentence(classes[v.Use])
	if c := classes[all.Use]; c.Strength != strongest {
		v.Instead = whole.instead(v.Use, all.Use, Choice{Class: classSentence(c), Where: c.Where})
	}
	return v
}

// within returns the verdict on s, which considers some of the locks of c: those, in
// words, or only one.
func (c contest) within(s Situation, only, those string) Verdict {
	v := judge(s)
	if n := len(s.contest().pool); n < len(c.pool) {
		v.Within = fmt.Sprintf("%d of %s", n, numfmt.Plural(len(c.pool), "lock"))
		v.Why = strings.Replace(v.Why, alone, only, 1)
		if n > 1 {
			v.Why += ". Considered: " + v.Within + ", " + those
		}
	}
	return v
}

// instead returns the choice of other beside use, with its figures, if other is faster
// by more than the margin.
func (c contest) instead(use, other string, choice Choice) *Choice {
	named := func(name string) int {
		return slices.IndexFunc(c.pool, func(x candidate) bool { return x.Lock.Name == name })
	}
	i, k := named(use), named(other)
	if i < 0 || k < 0 || c.read(c.pool[k], c.pool[i]) != stat.Slower {
		return nil
	}
	x := c.pool[k]
	choice.Lock = other
	ratio := c.compare(x, c.pool[i])
	choice.Rate = fmt.Sprintf("%s, %s (%s to %s) times as fast", c.rate(x.rate.Median), numfmt.Number(ratio.Median), numfmt.Number(ratio.Lo), numfmt.Number(ratio.Hi))
	return &choice
}

func classSentence(c survival.Class) string {
	if c.Strength == survival.Unknown {
		return NotTested
	}
	return c.Sentence
}

// unmet says why no lock of s has what the run is asked for.
func (s Situation) unmet(classes map[string]survival.Class) string {
	var parts []string
	s.only = nil
	c := s.contest()
	for _, x := range slices.Concat(c.pool, c.rivals) {
		parts = append(parts, x.Lock.Name+": "+lacks(classes[x.Lock.Name], s.g.Run.Require))
	}
	if len(parts) == 0 {
		return "no verdict: no lock that may be recommended was measured here"
	}
	return fmt.Sprintf("no verdict: no lock measured here was seen to have %s. %s", wanted(s.g.Run.Require), strings.Join(parts, ". "))
}

// wanted lists gs in words.
func wanted(gs []harness.Guarantee) string {
	var names []string
	for _, g := range gs {
		names = append(names, string(g))
	}
	return numfmt.List(names, len(names))
}

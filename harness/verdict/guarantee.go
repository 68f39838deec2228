package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
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

// A selection is the locks that a situation considers.
type selection struct {
	classes map[string]survival.Class // of every lock kept by servers
	keep    func(survival.Class) bool
}

// admits reports whether s considers l.
func (s Situation) admits(l harness.Lock) bool {
	return s.only == nil || s.only.keep(s.only.classes[l.Name])
}

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
	s.only = &selection{classes, s.g.has}
	all := judge(s)
	pool := s.contest().pool
	if len(pool) == 0 && len(s.g.Run.Require) > 0 {
		all.Why = s.unmet(classes)
		return all
	}
	strongest := survival.Unknown
	for _, c := range pool {
		strongest = max(strongest, classes[c.Lock.Name].Strength)
	}
	v := all
	if strongest > survival.Unknown {
		s.only = &selection{classes, func(c survival.Class) bool { return s.g.has(c) && c.Strength == strongest }}
		v = judge(s)
		if n := len(s.contest().pool); n < len(pool) {
			v.Within = fmt.Sprintf("%d of %s", n, numfmt.Plural(len(pool), "lock"))
		}
		v.Level, v.Rows = all.Level, all.Rows
		if v.Within != "" {
			v.Why = strings.Replace(v.Why, "the only candidate measured here", "the only candidate of its class", 1) + ". Considered: " + v.Within + ", those of its class"
		}
	}
	for i, r := range v.Rows {
		v.Rows[i].Class = classSentence(classes[r.Lock])
		v.Rows[i].Reading = reread(r, v, classes[r.Lock], strongest)
	}
	if v.Use == "" {
		return v
	}
	v.Class = classSentence(classes[v.Use])
	if c := classes[all.Use]; all.Use != "" && all.Use != v.Use && c.Strength != strongest {
		v.Instead = &Choice{Lock: all.Use, Rate: all.Median, Class: classSentence(c), Where: c.Where}
	}
	return v
}

// reread says of a rival of all what it is within the class of v.
func reread(r Rival, v Verdict, c survival.Class, strongest survival.Strength) string {
	text := strings.Replace(r.Reading, ", recommended", "", 1)
	switch {
	case r.Lock == v.Use:
		text += ", recommended"
	case c.Strength < strongest:
		text += "; of a weaker class"
	}
	return text
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

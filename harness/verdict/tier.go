package verdict

import (
	"fmt"
	"slices"

	"locklab/harness"
)

// A tier is a kind of local lock. A row is decided among the locks of the first tier of
// which one that may be used was measured.
type tier struct {
	name  string
	holds func(harness.Lock) bool
	// Of a tier behind the first: what its locks are like, where one of them is worth
	// it, behind "where", whether that can be so in a situation, and what to say where
	// it cannot.
	class string
	where string
	fits  func(Situation) bool
	unfit string
	// unless is the condition that does not hold where it cannot, behind "where".
	unless string
}

// tiers are the tiers of local locks. The advice is that of the package comments of
// spinlock and mutex: sync.Mutex, and a spin lock almost never.
var tiers = []tier{
	{name: "general-purpose locks", holds: func(l harness.Lock) bool { return l.Family != harness.Spin }},
	{
		name:  "spin locks",
		holds: func(l harness.Lock) bool { return l.Family == harness.Spin },
		class: "a spin lock, whose waiters poll while its holder may have lost its processor",
		where: "a section takes nanoseconds, no more goroutines contend than there are processors, and a measurement of your own program shows it",
		fits:  func(s Situation) bool { return s.g.class() == ordinary && s.workers <= max(1, s.g.CPUs) },
		unfit: "its waiters poll while its holder may have lost its processor, so it is not for such a situation",

		unless: "no holder can lose its processor",
	},
}

// tierOf returns the index of the tier of l, or -1 if l is kept by servers, whose classes
// come from what was seen.
func tierOf(l harness.Lock) int {
	if l.Traits.Needs != "" {
		return -1
	}
	return slices.IndexFunc(tiers, func(t tier) bool { return t.holds(l) })
}

// judgeLocal applies the rule to the locks of s of the first tier of which one that may
// be used was measured, and to all.
func judgeLocal(s Situation) Verdict {
	whole := s.contest()
	first := slices.IndexFunc(tiers, func(t tier) bool {
		return slices.ContainsFunc(whole.pool, func(x candidate) bool { return t.holds(x.Lock) })
	})
	if first < 0 {
		return judge(s)
	}
	s.only = tiers[first].holds
	if s.terse {
		v := judge(s)
		v.withhold(whole, first)
		return v
	}
	v := whole.within(s, "of the "+tiers[first].name+" no other is recommended", "the "+tiers[first].name)
	v.withhold(whole, first)
	if v.Use == "" {
		return v
	}
	if first > 0 {
		v.Notes = append(v.Notes, fmt.Sprintf("%s is %s; begin with sync.Mutex", v.Use, tiers[first].class))
	}
	for _, t := range tiers[first+1:] {
		v.beside(s, whole, t)
	}
	return v
}

// beside names the lock of t that the rule chooses among those of t, if it is faster
// than the one to use by more than the margin.
func (v *Verdict) beside(s Situation, whole contest, t tier) {
	s.only = t.holds
	other := whole.instead(v.Use, judge(s).Use, Choice{Class: t.class, Where: t.where})
	switch {
	case other == nil:
	case t.fits(s):
		v.Instead = other
	default:
		v.Unfit = other
		v.Unfit.Where = t.unless
		v.Notes = append(v.Notes, fmt.Sprintf("%s, of the %s, made %s; %s", other.Lock, t.name, other.Rate, t.unfit))
	}
}

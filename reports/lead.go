package reports

import (
	"regexp"
	"slices"
	"strings"

	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A fragment is a piece of a sentence; a lock's name is emphasised.
type fragment struct {
	Text string
	Lock bool
}

// lead answers the question of the page from the table of verdicts: one sentence
// for each kind of lock. It names locks that rows of the table chose, and has no
// figures, so that another run of which the rows say the same begins with the same
// words.
func lead(vs []verdict.Verdict) (out []fragment) {
	for _, remote := range []bool{false, true} {
		mine := slices.DeleteFunc(slices.Clone(vs), func(v verdict.Verdict) bool { return v.Remote() != remote })
		if len(mine) > 0 {
			out = append(out, sentenceOn(mine, remote)...)
		}
	}
	return out
}

// Lead is what a report says first of vs, verdicts of a run.
func Lead(vs []verdict.Verdict) string { return plainLead(lead(vs)) }

// sentenceOn says which lock to use in the situations vs, which are of one kind.
func sentenceOn(vs []verdict.Verdict, remote bool) []fragment {
	where := "Inside one process"
	if remote {
		where = "Between processes"
	}
	p := &phrase{classes: tested(vs)}
	decided, held := everyUse(vs), withheld(vs)
	switch {
	case len(decided) == 0 && len(held) > 0:
		p.withhold(where, held)
		return p.out
	case len(decided) == 0:
		p.add(where + ", nothing can be recommended yet: " + tooFewRE.ReplaceAllString(strings.TrimPrefix(firstSentence(vs[0].Why), "no verdict: "), "$1 rounds are needed") + ". ")
		return p.out
	}
	p.add(where + " use ")
	p.choices(decided)
	if other, ok := elsewhere(vs); ok && remote { // inside a process the rows name it
		p.add("; or, where " + other.where + ", ")
		p.name(other.lock)
		if other.when != nil {
			p.add(" " + numfmt.List(other.when, len(other.when)))
		}
	}
	if open := undecided(vs); len(open) > 0 {
		p.add("; nothing is decided " + numfmt.List(open, len(open)))
	}
	if remote && len(tested(vs)) == 0 {
		p.add(numfmt.Choose(len(uses(decided)), ". It was not tested for failures", ". None of these was tested for failures"))
	}
	p.add(". ")
	return p.out
}

// A phrase is a sentence in the making.
type phrase struct {
	out     []fragment
	classes map[string]string // of locks that were not named yet
}

func (p *phrase) add(text string) { p.out = append(p.out, fragment{Text: text}) }

// name names a lock, with what it was seen to survive.
func (p *phrase) name(lock string) {
	p.out = append(p.out, fragment{lock, true})
	if class := p.classes[lock]; class != "" {
		p.add(" (" + class + ")")
		delete(p.classes, lock) // once is enough
	}
}

// choices names the locks of decided, each with when it is chosen if there are several.
func (p *phrase) choices(decided []verdict.Verdict) {
	plain := slices.DeleteFunc(slices.Clone(decided), func(v verdict.Verdict) bool { return v.Reading() })
	if all := uses(decided); len(all) == 1 && len(decided) > 1 {
		p.name(all[0].lock)
		return
	} else if all := uses(plain); len(all) == 1 && len(plain) > 1 {
		p.name(all[0].lock) // the rows say the same of every other situation
		if decided = slices.DeleteFunc(slices.Clone(decided), func(v verdict.Verdict) bool { return !v.Reading() }); len(decided) > 0 {
			p.add("; ")
		}
	}
	for i, use := range uses(decided) {
		if i > 0 {
			p.add("; ")
		}
		p.name(use.lock)
		p.add(" " + numfmt.List(use.when, len(use.when)))
	}
}

// withhold says why none of held is recommended, and what is chosen among the locks there
// are.
func (p *phrase) withhold(where string, held []verdict.Verdict) {
	var why []string
	for _, v := range held {
		if !slices.Contains(why, v.Caveat) {
			why = append(why, v.Caveat)
		}
	}
	p.add(where + ", nothing can be recommended: " + strings.Join(why, "; ") + ". ")
	chosen := slices.DeleteFunc(slices.Clone(held), func(v verdict.Verdict) bool { return v.Among == "" })
	if len(chosen) == 0 {
		return
	}
	p.add("The choice of " + chosen[0].Among + " is ")
	p.choices(chosen)
	p.add(". ")
}

// tooFewRE finds how many rounds a run has and how many it takes. The one differs from
// run to run, and the sentence has no figures of a run.
var tooFewRE = regexp.MustCompile(`^\d+ rounds?, (\d+) needed`)

// everyUse returns those of vs that recommend a lock.
func everyUse(vs []verdict.Verdict) []verdict.Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v verdict.Verdict) bool { return !v.Recommends() })
}

// withheld returns those of vs that choose a lock and do not recommend it.
func withheld(vs []verdict.Verdict) []verdict.Verdict {
	return slices.DeleteFunc(slices.Clone(vs), func(v verdict.Verdict) bool { return v.Caveat == "" })
}

// undecided says when those of vs hold that recommend no lock.
func undecided(vs []verdict.Verdict) (when []string) {
	for _, v := range vs {
		if !v.Recommends() {
			when = append(when, v.When())
		}
	}
	return when
}

// tested returns what each lock that vs recommend was seen to survive, but for those
// that were not tested.
func tested(vs []verdict.Verdict) map[string]string {
	out := make(map[string]string)
	for _, v := range vs {
		if v.Use != "" && v.Class != "" && v.Class != verdict.NotTested {
			out[v.Use] = v.Class
		}
	}
	return out
}

// A detour is a faster lock that guarantees less.
type detour struct {
	lock, where string
	when        []string // nil if it is that in every situation
}

// elsewhere returns the faster lock that guarantees less in the most of vs; of several
// that where the most want it, which comes last. The rows have the others.
func elsewhere(vs []verdict.Verdict) (d detour, ok bool) {
	var out []detour
	for _, v := range vs {
		if v.Instead == nil {
			continue
		}
		i := slices.IndexFunc(out, func(d detour) bool { return d.lock == v.Instead.Lock })
		if i < 0 {
			i = len(out)
			out = append(out, detour{lock: v.Instead.Lock, where: v.Instead.Where})
		}
		out[i].when = append(out[i].when, v.WhenBeside(out[i].when))
	}
	if len(out) == 1 && len(out[0].when) == len(everyUse(vs)) {
		out[0].when = nil
	}
	for _, o := range out {
		if !ok || len(o.when) >= len(d.when) && d.when != nil {
			d, ok = o, true
		}
	}
	return d, ok
}

// A usage is a lock and when to use it.
type usage struct {
	lock string
	when []string
}

// uses gathers vs by the lock to use, in the order of the table.
func uses(vs []verdict.Verdict) (out []usage) {
	for _, v := range vs {
		i := slices.IndexFunc(out, func(u usage) bool { return u.lock == v.Use })
		if i < 0 {
			i = len(out)
			out = append(out, usage{lock: v.Use})
		}
		out[i].when = append(out[i].when, v.WhenBeside(out[i].when))
	}
	return out
}

// firstSentence returns s up to the first full stop that ends a sentence.
func firstSentence(s string) string {
	first, _, _ := strings.Cut(s, ". ")
	return strings.TrimSuffix(first, ".")
}

// plainLead returns the fragments as text.
func plainLead(fs []fragment) string {
	var b strings.Builder
	for _, f := range fs {
		b.WriteString(f.Text)
	}
	return strings.TrimSpace(b.String())
}

package verdict

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/internal/numfmt"
)

// A SectionChoice is what is chosen in a situation with some data behind the lock.
type SectionChoice struct {
	Section harness.Section
	Use     string   // "" is no verdict
	Ties    []string // locks beside Use that were not shown to be slower
}

// WithSections sets Sections of each of vs, by those of others that differ from it in
// the data behind the lock only.
func WithSections(vs []Verdict, others []Situation) {
	for i := range vs {
		v := &vs[i]
		for _, s := range others {
			if !v.about.butForSection(s) {
				continue
			}
			s.terse = true
			o := Judge(s)
			v.Sections = append(v.Sections, SectionChoice{s.g.Load.Section, o.Use, o.Ties()})
		}
		slices.SortStableFunc(v.Sections, func(a, b SectionChoice) int { return bySection(a.Section, b.Section) })
	}
}

// butForSection reports whether s and o differ in the section only.
func (s Situation) butForSection(o Situation) bool {
	if s.g == nil || s.g.Remote != o.g.Remote || s.workers != o.workers || s.g.Load.Section == o.g.Load.Section {
		return false
	}
	a, b := s.g.Load, o.g.Load
	a.Section, b.Section = harness.SectionWork, harness.SectionWork
	return Axes(a) == Axes(b)
}

// bySection orders sections: none, lines by their number, the others by name.
func bySection(a, b harness.Section) int {
	if a == harness.SectionWork || b == harness.SectionWork {
		return len(a) - len(b)
	}
	if m, n := a.Lines(), b.Lines(); m > 0 && n > 0 {
		return m - n
	}
	return strings.Compare(string(a), string(b))
}

// Section returns the data behind the lock that v is about.
func (v Verdict) Section() harness.Section {
	if v.about.g == nil {
		return harness.SectionWork
	}
	return v.about.g.Load.Section
}

// Data says in a sentence whether the choice of v is the same with other data behind
// the lock; "" if no other was measured.
func (v Verdict) Data() string {
	if len(v.Sections) == 0 {
		return ""
	}
	same, other := v.bySection()
	text := fmt.Sprintf("with the data behind the lock (here section %s): ", v.Section())
	switch {
	case other == nil:
		return "The choice does not change " + text + "it is the same with " + numfmt.List(same, len(same)) + "."
	case same == nil:
		return "The choice changes " + text + strings.Join(other, "; ") + "."
	}
	return "The choice changes " + text + strings.Join(other, "; ") + "; the same with " + numfmt.List(same, len(same)) + "."
}

// OtherSections lists what is chosen with other data behind the lock, where that is
// not the lock of v: "with section map: ticket".
func (v Verdict) OtherSections() []string {
	_, other := v.bySection()
	return other
}

// bySection returns the sections with which the choice is that of v, and the others
// with theirs.
func (v Verdict) bySection() (same, other []string) {
	for _, c := range v.Sections {
		switch {
		case c.Use == v.Use:
			same = append(same, c.Section.String())
		case c.Use == "":
			other = append(other, fmt.Sprintf("with %s no verdict", c.Section))
		case slices.Contains(c.Ties, v.Use):
			other = append(other, fmt.Sprintf("with %s %s, to which %s was not shown to be slower", c.Section, c.Use, v.Use))
		default:
			other = append(other, fmt.Sprintf("with %s %s", c.Section, c.Use))
		}
	}
	return same, other
}

package lab

import (
	"fmt"
	"slices"
	"strings"

	"locklab/harness"
	"locklab/harness/measure"
)

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// unheeded names the locks that an axis does not vary, and chosen locks without a case.
func (o runOptions) unheeded(p *measure.Plan) (lines []string) {
	say := func(text string, of func(*harness.Variant) bool) {
		names := each(filter(p.Locks(), of), func(v *harness.Variant) string { return v.Name })
		if names != nil {
			lines = append(lines, text+": "+strings.Join(names, ", "))
		}
	}
	if o.wait != nil {
		say("not varied by --wait, because they wait in a way of their own", func(v *harness.Variant) bool { return !followsWait(v) })
	}
	if o.section != nil {
		say("not varied by --section, because workers of a lock kept by servers share no memory", func(v *harness.Variant) bool { return v.Local == nil })
		lines = append(lines, o.unguarded()...)
	}
	return lines
}

// unguarded returns a line for each local lock that cannot guard a section's data.
func (o runOptions) unguarded() (lines []string) {
	locks, err := o.program.choose(strings.Split(o.locks, ","))
	if err != nil {
		return nil
	}
	a := o.axes
	if _, whole := o.whole(); whole && len(a.reads) == 0 {
		a.reads = []int{defaultReads}
	}
	w := harness.Workload{Section: a.data(), Reads: slices.Max(or(a.reads, 0))}
	for _, v := range locks {
		if why := measure.Unguarded(v, w); why != "" && v.Local != nil {
			lines = append(lines, fmt.Sprintf("not measured with --section and readers: %s, because %s", v.Name, why))
		}
	}
	return lines
}

func (a axes) data() harness.Section {
	i := slices.IndexFunc(a.section, func(s harness.Section) bool { return s != harness.SectionWork })
	if i < 0 {
		return harness.SectionWork
	}
	return a.section[i]
}

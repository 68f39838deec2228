package lab

import (
	"fmt"
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
		say("not varied by --section, because workers of a distributed lock share no memory", func(v *harness.Variant) bool { return v.Local == nil })
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
	if _, whole := o.whole(); whole {
		a.reads = or(a.reads, defaultReads)
	}
	for _, v := range filter(locks, func(v *harness.Variant) bool { return v.Local != nil }) {
		for _, w := range a.workloads(v, 1) {
			if why := measure.Unguarded(v, w); why != "" {
				lines = append(lines, fmt.Sprintf("not measured with --section and readers: %s, because %s", v.Name, why))
				break
			}
		}
	}
	return lines
}

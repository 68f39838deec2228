package lab

import (
	"strings"

	"locklab/harness"
	"locklab/harness/measure"
)

func followsWait(v *harness.Variant) bool { return v.Traits.FollowsWait }

// unheeded names the locks that an axis does not vary.
func (o runOptions) unheeded(p *measure.Plan) (lines []string) {
	say := func(text string, of func(*harness.Variant) bool) {
		names := each(filter(p.Locks(), of), func(v *harness.Variant) string { return v.Name })
		if names != nil {
			lines = append(lines, text+": "+strings.Join(names, ", "))
		}
	}
	if o.wait != nil {
		say("not varied by --wait, because they have their own way to wait", func(v *harness.Variant) bool { return !followsWait(v) })
	}
	if o.section != nil {
		say("not varied by --section, because workers of a distributed lock share no memory", func(v *harness.Variant) bool { return v.Local == nil })
	}
	return lines
}

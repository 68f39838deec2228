package reports

import (
	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// drawn returns the picture of g by c. It draws all locks, but the answer is only about
// sound locks, and names the omitted ones.
func (c *Chart) drawn(g *group) picture {
	pic := c.draw(g)
	sound, left := g.sound()
	if len(left) == 0 || pic.height == 0 {
		return pic
	}
	if sound == nil {
		pic.answer = "No answer: only locks were measured that are kept to show a bug: " + numfmt.List(left, 4) + "."
		return pic
	}
	if !c.judged { // a verdict considers none of them
		pic.answer = c.draw(sound).answer
	}
	pic.answer += " Left out of this answer, being kept to show a bug: " + numfmt.List(left, 4) + "."
	return pic
}

// subject returns the group that c draws when it is drawn alone: for a chart of the verdict
// the main workload, otherwise the group with the most cases. It returns nil if gs, the
// groups of a run, have none of its kind.
func (c *Chart) subject(gs []*group) *group {
	s, ok := judge.Decisive(bare(gs), c.Remote)
	for _, g := range gs {
		if c.judged && ok && g.Group == s.Group() {
			return g
		}
	}
	if c.open {
		return anchored(gs, c.Remote)
	}
	return largest(gs, c.Remote)
}

// sound returns g without unsound locks, and the names of these. The group is nil if no
// others remain.
func (g *group) sound() (*group, []string) {
	var left []string
	for _, s := range g.series {
		if unsound(s.Lock.Status) {
			left = append(left, s.Lock.Name)
		}
	}
	for _, c := range looked(judge.Without(bare(g.both), func(l harness.Lock) bool { return unsound(l.Status) })) {
		if c.Axes == g.Axes && c.Remote == g.Remote {
			c.conditions = g.conditions
			return c, left
		}
	}
	return nil, left
}

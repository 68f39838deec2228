package chart

import (
	"locklab/harness"
	"locklab/harness/judge"
	"locklab/internal/numfmt"
)

// Drawn returns the picture of g by c. It draws all locks, but the answer is only about
// sound locks, and names the omitted ones.
func (c *Chart) Drawn(g *Group) Picture {
	pic := c.Draw(g)
	var left []string
	sound := 0
	for _, s := range g.Locks {
		switch {
		case s.Lock.Status.Competes():
			sound++
		case s.Lock.Status != harness.Control:
			left = append(left, s.Lock.Name)
		}
	}
	switch {
	case len(left) == 0 || pic.Height == 0:
	case sound == 0:
		pic.Answer = "No answer: only locks were measured that are kept to show a bug: " + numfmt.List(left, 4) + "."
	default:
		pic.Answer += " Left out of this answer, being kept to show a bug: " + numfmt.List(left, 4) + "."
	}
	return pic
}

// Subject returns the group that c draws alone: the main workload of the verdict, or the one
// with the most cases, or nil.
func (c *Chart) Subject(gs []*Group) *Group {
	s, ok := judge.Decisive(bare(gs), c.Remote)
	for _, g := range gs {
		if c.Judged && ok && g.Group == s.Group() {
			return g
		}
	}
	if c.Open {
		return Anchored(gs, c.Remote)
	}
	return Largest(gs, c.Remote)
}

// MarkedName returns the name of a lock, with its status if the lock is unsound or a control.
func MarkedName(name string, s harness.Status) string {
	if s.Competes() {
		return name
	}
	return name + " (" + string(s) + ")"
}

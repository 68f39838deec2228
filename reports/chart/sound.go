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
	sound, left := g.sound()
	if len(left) == 0 || pic.Height == 0 {
		return pic
	}
	if sound == nil {
		pic.Answer = "No answer: only locks were measured that are kept to show a bug: " + numfmt.List(left, 4) + "."
		return pic
	}
	if !c.Judged { // a verdict considers none of them
		pic.Answer = c.Draw(sound).Answer
	}
	pic.Answer += " Left out of this answer, being kept to show a bug: " + numfmt.List(left, 4) + "."
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

func (g *Group) sound() (*Group, []string) {
	var left []string
	for _, s := range g.Locks {
		if Unsound(s.Lock.Status) {
			left = append(left, s.Lock.Name)
		}
	}
	for _, c := range styled(judge.Without(bare(g.Both), func(l harness.Lock) bool { return Unsound(l.Status) })) {
		if c.Axes == g.Axes && c.Remote == g.Remote {
			return c, left
		}
	}
	return nil, left
}

// Unsound reports whether a lock is kept to show a bug: no answer may call it the best.
func Unsound(s harness.Status) bool { return s == harness.Historical || s == harness.Broken }

// MarkedName returns the name of a lock, with its status if the lock is unsound or a control.
func MarkedName(name string, s harness.Status) string {
	if !Unsound(s) && s != harness.Control {
		return name
	}
	return name + " (" + string(s) + ")"
}

package reports

import (
	"strings"

	"locklab/harness"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// unsound reports whether a lock is kept to show a bug: it may well be the
// fastest, and no answer may call it the best.
func unsound(s harness.Status) bool { return s == harness.Historical || s == harness.Broken }

// markedName returns the name of a lock with its status, where that is no status of a
// lock to use or to compare with.
func markedName(name string, s harness.Status) string {
	if !unsound(s) && s != harness.Control {
		return name
	}
	return name + " (" + string(s) + ")"
}

// cutMark returns name in two parts, the second being what markedName added.
func cutMark(name string) (rest, mark string) {
	for _, s := range []harness.Status{harness.Historical, harness.Broken, harness.Control} {
		if mark = markedName("", s); strings.HasSuffix(name, mark) {
			return strings.TrimSuffix(name, mark), mark
		}
	}
	return name, ""
}

// drawn returns the picture of g by c: all locks are drawn, and the answer is
// about those that are not unsound. It says which those are that it leaves out.
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
	pic.answer = c.draw(sound).answer + " Left out of this answer, being kept to show a bug: " + numfmt.List(left, 4) + "."
	return pic
}

// sound returns g without the locks that are unsound, and their names; nil if
// there are no others.
func (g *group) sound() (*group, []string) {
	var left []string
	for _, s := range g.series {
		if unsound(s.Lock.Status) {
			left = append(left, s.Lock.Name)
		}
	}
	for _, c := range looked(verdict.Without(bare(g.both), func(l harness.Lock) bool { return unsound(l.Status) })) {
		if c.Axes == g.Axes && c.Remote == g.Remote {
			return c, left
		}
	}
	return nil, left
}

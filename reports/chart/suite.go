package chart

import (
	"cmp"
	"slices"

	"locklab/harness"
	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
)

// Suite lists every chart in the order of the report.
var Suite = []*Chart{
	RankingLocal, ThroughputLocal, WaitLocal, LoadLocal, JainLocal,
	RankingRemote, HandoversRemote, RequestsRemote, WaitRemote, LoadRemote, JainRemote,
}

// Of returns the picture of g by c with its texts.
func (c *Chart) Of(g *Group) Named {
	pic := c.Drawn(g)
	return Named{Name: c.Name, Title: cmp.Or(pic.Title, c.Title), Doc: c.Doc + " Workload: " + cmp.Or(pic.Load, g.Axes) + ".", Pic: pic}
}

// A Chart draws one question about the locks of a run.
type Chart struct {
	Name   string // identifies the chart: lower case, words joined by '-'
	Title  string // the question
	Doc    string // how to read it: what a line, a band and a colour are
	Remote bool   // draws the distributed locks; otherwise the local ones

	// Judged: the chart draws the main workload, and its answer names no unsound lock.
	Judged bool

	// Open: the chart draws the open loops of a run, next to the group with the most cases, if
	// there are any. Others draw closed loops.
	Open bool

	// Draw draws a group, which holds at least one result.
	Draw func(g *Group) Picture

	Guard guard // leaves the drawing out
}

func both(c Chart, title string) (local, distributed *Chart) {
	d := c
	d.Name, d.Title, d.Remote = c.Name+"-distributed", title, true
	return &c, &d
}

// Drawn returns the picture of g by c, without a drawing that its guard leaves out. It draws
// all locks, but the answer is only about sound locks, and names the omitted ones.
func (c *Chart) Drawn(g *Group) Picture {
	pic := c.Draw(g)
	var left []string
	sound := 0
	for _, s := range g.Series {
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
		pic.Answer = "No answer: all measured locks are kept to show a bug: " + numfmt.List(left, 4) + "."
	default:
		pic.Answer += " Left out of this answer (kept to show a bug): " + numfmt.List(left, 4) + "."
	}
	return pic.guarded(c.Guard)
}

// Subject returns the group that c draws alone: the main workload of the verdict, or the one
// with the most cases, or nil.
func (c *Chart) Subject(gs []*Group) *Group {
	s, ok := judge.Decisive(result.Each(gs, func(g *Group) *judge.Group { return g.Group }), c.Remote)
	for _, g := range gs {
		if c.Judged && ok && g.Group == s.Group() {
			return g
		}
	}
	if slices.ContainsFunc(gs, func(g *Group) bool { return g.Open() == c.Open && g.Remote == c.Remote }) {
		return Anchored(gs, c.Remote)
	}
	return nil
}

// MarkedName returns the name of a lock, with its status if the lock is unsound or a control.
func MarkedName(name string, s harness.Status) string {
	if s.Competes() {
		return name
	}
	return name + " (" + string(s) + ")"
}

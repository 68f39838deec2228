package chart

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
}

// both returns the charts of c for local and for distributed locks, whose title is title.
func both(c Chart, title string) (local, distributed *Chart) {
	d := c
	d.Name, d.Title, d.Remote = c.Name+"-distributed", title, true
	return &c, &d
}

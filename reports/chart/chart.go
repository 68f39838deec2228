package chart

// A Chart draws one question about the locks of a run.
type Chart struct {
	Name   string // identifies the chart: lower case, words joined by '-'
	Title  string // the question
	Doc    string // how to read it: what a line, a band and a colour are
	Remote bool   // draws the distributed locks; otherwise the local ones

	// Once restricts a chart to the group with the most cases, and omits it if it has nothing
	// to draw.
	Once bool

	// Judged: the chart draws the main workload, and its answer names no unsound lock.
	Judged bool

	// Carries: a main chart of a report, whose page shows and prints it. Others are folded.
	Carries bool

	// Open: the chart draws open loops, for any group; others draw closed ones.
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

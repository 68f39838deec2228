package chart

import "cmp"

// Suite lists every chart in the order of the report.
var Suite = []*Chart{
	RankingLocal, ThroughputLocal, WaitLocal, LoadLocal, JainLocal,
	RankingRemote, HandoversRemote, RequestsRemote, WaitRemote, LoadRemote, JainRemote,
}

// Charts returns the charts of [Suite] that have something to draw, each of its subject in gs.
func Charts(gs []*Group) (out []Named) {
	for _, c := range Suite {
		if g := c.Subject(gs); g != nil {
			out = append(out, c.Of(g))
		}
	}
	return out
}

// Of returns the picture of g by c with its texts.
func (c *Chart) Of(g *Group) Named {
	pic := c.Drawn(g)
	return Named{Name: c.Name, Title: cmp.Or(pic.Title, c.Title), Doc: c.Doc + " Workload: " + cmp.Or(pic.Load, g.Axes) + ".", Pic: pic}
}

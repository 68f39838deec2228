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
		g := c.Subject(gs)
		if g == nil {
			continue
		}
		if pic := c.Drawn(g); pic.Height > 0 {
			out = append(out, Named{Name: c.Name, Title: cmp.Or(pic.Title, c.Title), Doc: c.Doc + " Workload: " + cmp.Or(pic.Load, g.Axes) + ".", Pic: pic})
		}
	}
	return out
}

package reports

import (
	"slices"

	"locklab/harness/resultfile"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A group is a group of results with what it takes to draw it.
type group struct {
	*verdict.Group
	all    []*group  // the groups of the run for the same kind of lock, this one among them
	both   []*group  // all groups of the run, for local locks and for those kept by servers
	series []*series // as in Group, each with its look
}

// A series is one lock in a group, and how it is drawn.
type series struct {
	*verdict.Series
	look look
}

type cell = verdict.Cell

// groups returns the groups of run, in the order of [verdict.Groups].
func groups(run *resultfile.Run) []*group { return looked(verdict.Groups(run)) }

// looked gives every lock of gs, groups of one run, its look.
func looked(gs []*verdict.Group) (out []*group) {
	var looks map[string]look
	for _, v := range gs {
		if looks == nil {
			looks = assignLooks(v.Run.Results)
		}
		g := &group{Group: v}
		for _, s := range v.Series {
			g.series = append(g.series, &series{s, looks[s.Lock.Name]})
		}
		out = append(out, g)
	}
	for _, g := range out {
		g.both = out
		g.all = slices.DeleteFunc(slices.Clone(out), func(o *group) bool { return o.Remote != g.Remote })
	}
	return out
}

func bare(gs []*group) (out []*verdict.Group) {
	for _, g := range gs {
		out = append(out, g.Group)
	}
	return out
}

// at returns the series that were measured with w workers.
func (g *group) at(w int) (out []*series) {
	for _, s := range g.series {
		if s.Cells[w] != nil {
			out = append(out, s)
		}
	}
	return out
}

// unit is what contends for a lock of g.
func (g *group) unit(n int) string { return numfmt.Plural(n, "worker") }

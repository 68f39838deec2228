package reports

import (
	"slices"

	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A group is a group of results with what it takes to draw it.
type group struct {
	*verdict.Group
	all    []*group  // the groups of the run for the same kind of lock, of closed loops
	both   []*group  // all groups of the run, for local locks and for those kept by servers, of closed and of open loops
	series []*series // as in Group, each with its look

	// conditions are those of the open loops that a chart of them draws, of a run that has
	// them under several; "" are those with the most rates.
	conditions string
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
		g.all = slices.DeleteFunc(slices.Clone(out), func(o *group) bool { return o.Remote != g.Remote || o.Open() })
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

// barsOf returns the shares of the busiest worker, the second and so on, each as
// the median over the rounds, in equal shares.
func barsOf(c *cell) []float64 {
	var ranks [][]float64
	for _, i := range c.Order() {
		workers := slices.Clone(c.Rounds[i].Workers)
		slices.Sort(workers)
		var sum float64
		for _, n := range workers {
			sum += float64(n)
		}
		if sum == 0 {
			continue
		}
		for rank, n := range slices.Backward(workers) {
			rank = len(workers) - 1 - rank
			if rank == len(ranks) {
				ranks = append(ranks, nil)
			}
			ranks[rank] = append(ranks[rank], float64(n)*float64(len(workers))/sum)
		}
	}
	bars := make([]float64, len(ranks))
	for rank, xs := range ranks {
		bars[rank] = stat.Summarize(xs).Median
	}
	return bars
}

// largest returns the group of closed loops with the most cases of one kind, or nil.
func largest(gs []*group, remote bool) *group {
	for _, g := range gs {
		if g.Remote == remote && !g.Open() {
			return g
		}
	}
	return nil
}

// anchored returns the group of one kind with which the charts stand that are drawn once:
// that of closed loops with the most cases, or else of open ones; nil if there is none.
func anchored(gs []*group, remote bool) *group {
	if g := largest(gs, remote); g != nil {
		return g
	}
	for _, g := range gs {
		if g.Remote == remote {
			return g
		}
	}
	return nil
}

func noGroup(remote bool) string {
	if remote {
		return "This run has no result of a distributed lock."
	}
	return "This run has no result of a local lock."
}

// source says that a picture of g draws ms.
func (g *group) source(ms ...*metric.Metric) source {
	return source{metrics: ms, rounds: []int{roundsOf(g)}}
}

// fields says that a picture of g draws fields of its lines as they are.
func (g *group) fields(names ...string) source {
	s := g.source()
	s.fields = names
	return s
}

// roundsOf returns how many rounds there are of gs.
func roundsOf(gs ...*group) int {
	seen := make(map[int]bool)
	for _, g := range gs {
		for _, s := range g.series {
			for _, c := range s.Cells {
				for i := range c.Rounds {
					seen[i] = true
				}
			}
		}
	}
	return len(seen)
}

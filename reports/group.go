package reports

import (
	"slices"

	"locklab/harness"

	"locklab/harness/metric"
	"locklab/harness/resultfile"
	"locklab/harness/stat"
	"locklab/harness/verdict"
	"locklab/internal/numfmt"
)

// A group is a group of results with the data to draw it.
type group struct {
	*verdict.Group
	all    []*group  // the closed-loop groups of the run for the same kind of lock
	both   []*group  // all groups of the run: local and distributed locks, closed and open loops
	series []*series // as in Group, each with its look

	// conditions select the open loops that a chart draws, if the run has them under
	// several; "" selects the conditions with the most rates.
	conditions string
}

// A series is one lock in a group, with its look.
type series struct {
	*verdict.Series
	look look
}

type cell = verdict.Cell

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

func (g *group) at(w int) (out []*series) {
	for _, s := range g.series {
		if s.Cells[w] != nil {
			out = append(out, s)
		}
	}
	return out
}

// compared returns g without controls.
func (g *group) compared() *group {
	c := *g
	c.series = slices.DeleteFunc(slices.Clone(g.series), func(s *series) bool { return s.Lock.Status == harness.Control })
	return &c
}

// unit returns n workers in words.
func (g *group) unit(n int) string { return numfmt.Plural(n, "worker") }

// barsOf returns the shares of the busiest worker, the second and so on, as multiples of an
// equal share. Each is the median over the rounds.
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

// anchored returns the group whose section has the charts that are drawn once: the group of
// closed loops with the most cases, else of open loops. It returns nil without one.
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

// source returns the source of a picture of g that draws ms.
func (g *group) source(ms ...*metric.Metric) source {
	return source{metrics: ms, rounds: []int{roundsOf(g)}}
}

// fields returns the source of a picture of g that draws fields of its lines.
func (g *group) fields(names ...string) source {
	s := g.source()
	s.fields = names
	return s
}

// roundsOf counts the rounds of gs.
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

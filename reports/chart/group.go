package chart

import (
	"cmp"
	"fmt"
	"slices"

	"locklab/harness/judge"
	"locklab/harness/result"
	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// A Group is a group of results with the data to draw it.
type Group struct {
	*judge.Group
	Both  []*Group  // all groups of the run: local and distributed locks, closed and open loops
	Locks []*series // as in Group, each with its style
}

// A series is one lock in a group, with its style.
type series struct {
	*judge.Series
	style draw.Style
}

type Cell = judge.Cell

func Groups(run *result.Run) (out []*Group) {
	for _, v := range judge.Groups(run) {
		g := &Group{Group: v}
		for _, s := range v.Series {
			g.Locks = append(g.Locks, &series{s, styleOf(s.Lock)})
		}
		out = append(out, g)
	}
	for _, g := range out {
		g.Both = out
	}
	return out
}

func bare(gs []*Group) (out []*judge.Group) {
	for _, g := range gs {
		out = append(out, g.Group)
	}
	return out
}

// has reports whether any lock of g has a figure of m.
func (g *Group) has(m *result.Metric) bool {
	for _, s := range g.Locks {
		for _, c := range s.Cells {
			if c.Summary(m).N > 0 {
				return true
			}
		}
	}
	return false
}

func (g *Group) at(w int) (out []*series) {
	for _, s := range g.Locks {
		if s.Cells[w] != nil {
			out = append(out, s)
		}
	}
	return out
}

func (g *Group) cell(lock string, w int) *Cell {
	for _, s := range g.Locks {
		if s.Lock.Name == lock {
			return s.Cells[w]
		}
	}
	return nil
}

type figure struct {
	name string
	v    float64
}

func (g *Group) figures(w int, m *result.Metric) (out []figure) {
	for _, s := range g.at(w) {
		if v := s.Cells[w].Summary(m); v.N > 0 && s.Lock.Status.Competes() {
			out = append(out, figure{s.Lock.Name, v.Median})
		}
	}
	sortFigures(out)
	return out
}

// sortFigures sorts fs, the greatest first.
func sortFigures(fs []figure) {
	slices.SortStableFunc(fs, func(a, b figure) int { return cmp.Compare(b.v, a.v) })
}

func (f figure) of(format func(v float64) string) string {
	return fmt.Sprintf("%s (%s)", f.name, format(f.v))
}

// extremes compares the first and the last of fs, which are not empty: "mcs has the highest
// rate (4 M/s), twice the lowest, tas (2 M/s)".
func extremes(fs []figure, most, least string, format func(v float64) string) string {
	end := fs[len(fs)-1]
	text := fmt.Sprintf("%s has %s (%s)", fs[0].name, most, format(fs[0].v))
	switch {
	case len(fs) == 1:
		return text
	case end.v > 0:
		if fs[0].v < 1.05*end.v {
			return fmt.Sprintf("%s, about the same as %s, %s (%s)", text, end.name, least, format(end.v))
		}
		return fmt.Sprintf("%s, %s %s, %s (%s)", text, numfmt.Times(fs[0].v/end.v), least, end.name, format(end.v))
	}
	return fmt.Sprintf("%s, %s has %s (%s)", text, end.name, least, format(end.v))
}

func (g *Group) unit(n int) string { return numfmt.Plural(n, "worker") }

// Largest returns the group of closed loops with the most cases of one kind, or nil.
func Largest(gs []*Group, remote bool) *Group {
	if g := Anchored(gs, remote); g != nil && !g.Open() {
		return g
	}
	return nil
}

// Anchored returns the group whose section has the charts that are drawn once: the group of
// closed loops with the most cases, else of open loops. It returns nil without one.
func Anchored(gs []*Group, remote bool) *Group {
	for _, g := range gs { // closed loops come first
		if g.Remote == remote {
			return g
		}
	}
	return nil
}

func (g *Group) source(ms ...*result.Metric) Source {
	return Source{Metrics: ms, Rounds: []int{roundsOf(g)}}
}

func roundsOf(gs ...*Group) int {
	seen := make(map[int]bool)
	for _, g := range gs {
		for _, s := range g.Locks {
			for _, c := range s.Cells {
				for i := range c.Rounds {
					seen[i] = true
				}
			}
		}
	}
	return len(seen)
}

package chart

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	vgdraw "gonum.org/v1/plot/vg/draw"

	"locklab/internal/numfmt"
	"locklab/reports/draw"
)

// settingMarks are the marks of the settings in a row.
var settingMarks = []vgdraw.GlyphDrawer{vgdraw.CircleGlyph{}, vgdraw.BoxGlyph{}, vgdraw.PyramidGlyph{}, vgdraw.RingGlyph{}, vgdraw.SquareGlyph{}, vgdraw.TriangleGlyph{}, vgdraw.PlusGlyph{}}

// columns returns the numbers of workers that a chart of s shows: the fewest, one worker per
// processor, and w.
func (s *sweep) columns(w int) (out []int) {
	for _, n := range s.workers {
		if n <= w && (n == s.workers[0] || n == w || !s.remote && n == s.cpus) {
			out = append(out, n)
		}
	}
	return out
}

// intervals draws the effects around "no effect": one row per lock, one panel per number of
// workers. The greatest effect with w workers is first.
func (s *sweep) intervals(w int) draw.Picture {
	rank := make(map[*series]float64)
	var locks []*series
	all := []draw.Mark{{Mid: 1, Lo: 1, Hi: 1}}
	for _, n := range s.columns(w) {
		for _, e := range s.All(n) {
			all = append(all, s.mark(e))
			if _, seen := rank[e.S]; !seen {
				locks, rank[e.S] = append(locks, e.S), 1
			}
			if n == w && math.Abs(math.Log(e.Median)) > math.Abs(math.Log(rank[e.S])) {
				rank[e.S] = e.Median
			}
		}
	}
	slices.SortStableFunc(locks, func(a, b *series) int {
		return cmp.Or(cmp.Compare(rank[b], rank[a]), a.look.Compare(b.look))
	})
	r := draw.Rows{Title: fmt.Sprintf("rate with the setting ÷ rate with %s, in the same round (log scale)", s.full(s.base))}
	for i := range s.settings {
		if i != s.base {
			r.Notes = append(r.Notes, draw.GlyphNote(s.shape(i), s.full(i)))
		}
	}
	lo, hi := draw.Reach(all)
	lo, hi = draw.LogRange(lo, hi)
	for _, n := range s.columns(w) {
		title := numfmt.Plural(n, "worker")
		if !s.remote && s.cpus > 0 && n > s.cpus {
			title += " on " + numfmt.Plural(s.cpus, "CPU")
		}
		r.Panels = append(r.Panels, draw.Scaled{Title: title, Lo: lo, Hi: hi, Log: true, Line: 1, Format: func(v float64) string { return numfmt.Number(v) + "×" }})
	}
	for _, x := range locks {
		row := draw.Row{Name: x.Lock.Name, Look: x.look}
		for _, n := range s.columns(w) {
			var marks []draw.Mark
			for _, e := range s.All(n) {
				if e.S == x {
					marks = append(marks, s.mark(e))
				}
			}
			row.Marks = append(row.Marks, marks)
		}
		r.Rows = append(r.Rows, row)
	}
	return r.Drawn()
}

func (s *sweep) shape(setting int) vgdraw.GlyphDrawer {
	if setting > s.base {
		setting--
	}
	return settingMarks[setting%len(settingMarks)]
}

func (s *sweep) mark(e effect) draw.Mark {
	return draw.Mark{Mid: e.Median, Lo: e.Lo, Hi: e.Hi, Shape: s.shape(e.setting), Pale: !e.Apart()}
}
